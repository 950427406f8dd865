"""Drives docs/examples/petstore.py for recipes.test.mjs.

Reads one call per line: {"call": "create", "arguments": {…}}. Prints
{"sleep": seconds} and waits for an empty line where the client would sleep, then
{"result": …} or {"error": code}.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])
from petstore import Petstore, PetstoreError  # noqa: E402


def say(**message):
    print(json.dumps(message), flush=True)


def sleep(seconds):
    say(sleep=seconds)
    sys.stdin.readline()


store = Petstore(sys.argv[2], sys.argv[3], sleep=sleep)
while line := sys.stdin.readline():
    request = json.loads(line)
    arguments = request["arguments"]
    try:
        if request["call"] == "list":
            say(result=list(store.list_pets(**arguments)))
        else:
            say(result=store.create_pet(arguments["name"], arguments["categoryId"]))
    except PetstoreError as error:
        say(error=error.code)
