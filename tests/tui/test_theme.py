"""Theme files: ours are good, broken ones are reported, and none blocks the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color

from eagletui.model.errors import ConfigError
from eagletui.tui.theme import built_in_folder, load_themes, own_variables, parse_theme

OURS = {"eagle-dark", "eagle-light", "eagle-cb-dark", "eagle-cb-light"}


def test_ours_load_without_a_complaint() -> None:
    found = load_themes([built_in_folder()])
    assert found.problems == ()
    assert set(found.themes) >= OURS


@pytest.mark.parametrize("name", sorted(OURS))
def test_ours_are_readable(name: str) -> None:
    """Every colour that carries text has a contrast of 4.5 or more against the background."""
    theme = load_themes([built_in_folder()]).themes[name]
    variables = theme.to_color_system().generate()
    background = Color.parse(theme.background or variables["background"])
    quiet = own_variables(theme, {**variables, **theme.variables})["quiet"]
    for colour in ("foreground", "primary", "accent", "success", "warning", "error"):
        assert contrast(Color.parse(getattr(theme, colour)), background) >= 4.5, colour
    assert contrast(Color.parse(quiet), background) >= 4.5


def contrast(one: Color, other: Color) -> float:
    """WCAG 2 contrast ratio."""

    def luminance(colour: Color) -> float:
        def linear(part: float) -> float:
            return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

        red, green, blue = (linear(part) for part in colour.normalized)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('name = "x"\n', "missing required field `primary`"),
        ('name = "x"\nprimary = "#12345"\n', 'primary = "#12345" is not a colour'),
        ('name = "x"\nprimary = "red"\ncolour = "blue"\n', "unknown field `colour`"),
        ("name = \n", "is not valid TOML"),
        ('name = "x"\nprimary = "red"\ndark = "yes"\n', "Expected `bool`"),
    ],
)
def test_a_broken_theme_says_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_theme(text, "x.toml")
    assert caught.value.what.startswith("x.toml")
    assert complaint in caught.value.what


def test_a_broken_theme_does_not_block_others(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("nonsense")
    (tmp_path / "b.toml").write_bytes(b"\xff")
    (tmp_path / "c.toml").write_text('name = "mine"\nprimary = "#ff0000"\n')
    (tmp_path / "d.toml").write_text('name = "eagle-dark"\nprimary = "#00ff00"\n')
    found = load_themes([built_in_folder(), tmp_path, tmp_path / "absent"])
    assert len(found.problems) == 2
    assert found.themes["mine"].primary == "#ff0000"
    assert found.themes["eagle-dark"].primary == "#00ff00"
