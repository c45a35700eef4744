#!/usr/bin/env bash
# obstore: an object that is renamed to the name that it has.
#
# The guess: rename(store, "a", "a") does nothing, as os.rename does and as obstore's LocalStore does, or it is refused.
# obstore 0.12.1: in stores whose rename is a copy and a delete (here MemoryStore), the object is gone, without an error.
#
# Output seen:
#    LocalStore: 'rows'
#    MemoryStore: FileNotFoundError
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet obstore==0.12.1
cd "$folder"
mkdir objects
"$folder/venv/bin/python" - > found <<'PYTHON'
import os

import obstore
from obstore.store import LocalStore, MemoryStore

for store in (LocalStore(prefix=os.path.abspath("objects")), MemoryStore()):
    obstore.put(store, "a", b"rows")
    obstore.rename(store, "a", "a")
    try:
        found = repr(bytes(obstore.get(store, "a").bytes()).decode())
    except FileNotFoundError:
        found = "FileNotFoundError"
    print(f"{type(store).__name__}: {found}")
PYTHON
cat found
diff found - <<'SEEN'
LocalStore: 'rows'
MemoryStore: FileNotFoundError
SEEN
