"""What runs on the host when something is changed there.

`bootstrap` is started by any Python from 3.8 on and is sent the other modules on its standard
input; it needs nothing installed. `service` then answers one request after another until that
input ends, each in a child process of its own. The modules save, stop, look after and start
servers, always by id *and* start time, never one that this program descends from. What is kept
lies in one private folder: the command lines and environments there hold secrets and do not leave
the host.

    STATE/launches/ID/plan.json     what is to be started
                      before.json   what ran before, whole
                      state.json    where the restart stands, and the servers it knows
    STATE/logs/                     logs of servers whose plan names none
"""
