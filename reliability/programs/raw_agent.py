"""An agent by hand, without any library, that answers nothing and can end in every way.

`raw_agent.py COUNTER`: from the first line that it reads on, it streams numbered updates if COUNTER
names a file, where it notes how many it has written. SIGUSR1 has it exit with code 3, SIGUSR2 close
its output and stay; the end of its input ends it.
"""

import mmap
import os
import signal
import sys
import threading

UPDATE = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d"}}}}\n'
)


def stream(counter: mmap.mmap) -> None:
    """Writes updates until nobody reads them. A write so short is made whole or not at all."""
    written = 0
    while True:
        try:
            os.write(1, UPDATE % written)
        except OSError:
            os._exit(0)
        written += 1
        counter[:8] = written.to_bytes(8, "little")


signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))
signal.signal(signal.SIGUSR2, lambda *_: os.close(1))
os.read(0, 1 << 16)
if len(sys.argv) > 1:
    file = os.open(sys.argv[1], os.O_RDWR)
    threading.Thread(target=stream, args=(mmap.mmap(file, 8),), daemon=True).start()
else:
    os.write(1, b'{"jsonrpc":"2.0","method":"_reading"}\n')
while os.read(0, 1 << 16):
    pass
os._exit(0)
