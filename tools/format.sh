#!/bin/sh
# Fails when gofmt would change a file of the repository, and names it.
set -eu
cd "$(dirname "$0")/.."

bad=$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l)
if [ -n "$bad" ]; then
	echo "gofmt would change:"
	echo "$bad"
	exit 1
fi
