"""Tree bookkeeping of speculative verification, in plain Python."""


def reconstruct_indices_from_tree_mask(
    tree_mask,
    verified_seq_len,
    positions,
    retrive_index,
    retrive_next_token,
    retrive_next_sibling,
    batch_size,
    draft_token_num,
):
    n = draft_token_num
    mask = tree_mask.flatten().view(batch_size, n, n).bool().tolist()
    for b in range(batch_size):
        anc = [[j for j in range(i) if mask[b][i][j]] for i in range(n)]
        par = [max(a) if a else -1 for a in anc]
        sl = int(verified_seq_len[b])
        for t in range(n):
            o = b * n + t
            positions.view(-1)[o] = len(anc[t]) + sl
            retrive_index.view(-1)[o] = o
            kids = [k for k in range(t + 1, n) if t in anc[k]]
            retrive_next_token.view(-1)[o] = kids[0] if kids else -1
            sib = [k for k in range(t + 1, n) if par[k] == par[t]] if par[t] >= 0 else []
            retrive_next_sibling.view(-1)[o] = sib[0] if sib else -1
