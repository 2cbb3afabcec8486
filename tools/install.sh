#!/bin/sh
# Installs the programs that the tests drive, from Debian's packages and from
# npm's, and says which. What is there already is left alone.
#
# Where a package cannot be installed (not Debian, not root), the script names
# it and goes on: the tests that need it then skip and count what they skipped.
set -u
cd "$(dirname "$0")/.."

missing=""
need() { # need PROGRAM PACKAGE
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need chromium chromium
need restic restic
need rclone rclone
need s3cmd s3cmd
need aws awscli
need strace strace
need mkfs.ext4 e2fsprogs
need mkfs.xfs xfsprogs
need rsync rsync
need node nodejs
need npm npm

as_root=""
if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null 2>&1; then
	as_root=sudo
fi

if [ -n "$missing" ]; then
	echo "test programs: installing from Debian:$missing"
	if command -v apt-get >/dev/null 2>&1 &&
		$as_root apt-get update -q >/dev/null &&
		DEBIAN_FRONTEND=noninteractive $as_root apt-get install -q -y --no-install-recommends $missing >/dev/null; then
		echo "test programs: installed$missing"
	else
		echo "test programs: could not install$missing; the tests that need them will skip" >&2
	fi
else
	echo "test programs: all there, nothing installed from Debian"
fi

if [ -f e2e/package-lock.json ] && command -v npm >/dev/null 2>&1; then
	if [ -f e2e/node_modules/.package-lock.json ] && [ e2e/node_modules/.package-lock.json -nt e2e/package-lock.json ]; then
		echo "test programs: npm packages of e2e/package.json are there"
	else
		echo "test programs: installing the npm packages of e2e/package.json"
		npm ci --prefix e2e --no-audit --no-fund --loglevel=error ||
			echo "test programs: npm could not install; the JavaScript SDK's tests will skip" >&2
	fi
fi
