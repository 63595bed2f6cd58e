"""python -m isthmus: where Isthmus is."""

import sys

from isthmus.commands import PREFIX, others

print(PREFIX)
for name in others():
    print(f"also in this environment: {name}", file=sys.stderr)
