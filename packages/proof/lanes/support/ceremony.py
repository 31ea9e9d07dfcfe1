"""Runs a program in a pseudo-terminal as a custodian would: shows a share, reads it from the screen, types words back.

    ceremony.py PROGRAM ARGUMENT...

Prints one JSON object: the exit code, everything on the screen, and the shares that were read from it.
"""

import json, os, pty, re, sys

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
screen, answered, shares, share = "", 0, [], {}
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        piece = b""
    if not piece:
        break
    screen += piece.decode()
    asked = re.findall(r"[Tt]ype (show|written|word (\d+))\b", screen)
    for what, position in asked[answered:]:
        answered += 1
        if what == "written":
            share = {int(at): word for at, word in re.findall(r"(\d+)  ([a-z]+)", screen[screen.rindex("\x1b[3J") :])}
            shares.append(" ".join(share[at + 1] for at in range(len(share))))
        answer = share[int(position)] if position else what
        os.write(terminal, f"{answer}\n".encode())
_, status = os.waitpid(pid, 0)
print(json.dumps({"code": os.waitstatus_to_exitcode(status), "screen": screen, "shares": shares}))
