#!/bin/sh
# The race detector over every package but two, with -short.
#
# SQLite is C translated to Go: under the detector it runs about twenty times
# slower, so tests that fill an index obey -short. Left out are e2e, whose
# subject is a binary built without the detector, and fault, which has no
# goroutine. The simulated disk is skipped too: its runs let one goroutine go at
# a time, so that they can be repeated, and there is no race to be seen.
set -eu
cd "$(dirname "$0")/.."

go test -race -short -skip '^TestSim' -timeout 20m $(go list ./... | grep -v -e '/e2e' -e '/fault$')
