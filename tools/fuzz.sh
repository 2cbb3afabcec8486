#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME, one after the other.
set -eu
cd "$(dirname "$0")/.."

for dir in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u); do
	for target in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/func //' | sort -u); do
		echo "fuzz: $dir $target for ${FUZZTIME:-30s}"
		go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-30s}"
	done
done
