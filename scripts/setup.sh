#!/bin/sh
# Makes what the project needs, inside the checkout: `sh scripts/setup.sh [packages|node|chromium]...`
#   packages  .venv with the pinned Python packages
#   node      .venv/bin/node (20 or newer) and node_modules with what the page is made from
#   chromium  a Chromium for the browser tests
# Each part notes what it was made from and is made again only when that has changed. PYTHON and CHROMIUM may name
# the interpreter and the browser.
set -eu
cd "$(dirname "$0")/.."

LOG=.setup.log
VENV=.venv
PACKAGES_NOTE=$VENV/.batchloom-packages
NODE_NOTE=node_modules/.batchloom

say() { printf 'batchloom: %s\n' "$*"; }
die() { printf 'batchloom: %s\n' "$*" >&2; exit 1; }

# Runs a command quietly; the error is one line, the rest is in the log.
# $1: what went wrong, if it goes wrong
quietly() {
    failure=$1
    shift
    if ! "$@" >"$LOG" 2>&1; then
        cause=$(grep -iE '^(E:|npm error|error)|error:' "$LOG" | tail -n 1 | cut -c 1-200)
        die "$failure${cause:+ ($cause)}; the whole output is in $LOG"
    fi
    rm -f "$LOG"
}

# --- packages

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
version_of() { "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        command -v "$PYTHON" >/dev/null 2>&1 || die "there is no '$PYTHON': PYTHON must name Python 3.11 or newer"
        is_new_enough "$PYTHON" || die "'$PYTHON' is not Python 3.11 or newer, which is needed"
        python=$PYTHON
        return
    fi
    for python in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if is_new_enough "$python"; then return; fi
    done
    die "Python 3.11 or newer is needed: install it (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew" \
        "install python), or name one that is there: make PYTHON=/path/to/python3"
}

packages_note() { { pwd; version_of "$VENV/bin/python"; cat requirements.txt pyproject.toml; } 2>/dev/null | cksum; }

packages_are_there() {
    [ "$(cat "$PACKAGES_NOTE" 2>/dev/null)" = "$(packages_note)" ] || return 1
    [ -z "${PYTHON:-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of "$VENV/bin/python")" ]
}

setup_packages() {
    if packages_are_there; then return; fi
    find_python
    "$python" -c 'import venv, ensurepip' >/dev/null 2>&1 ||
        die "$python cannot make virtual environments: install its venv module (Debian, Ubuntu: apt install" \
            "python3-venv)"
    say "putting the Python packages into $VENV, with Python $(version_of "$python")"
    quietly "could not make $VENV" "$python" -m venv --clear "$VENV"
    set -- "$VENV/bin/python" -m pip install --disable-pip-version-check --no-input --quiet
    quietly "could not install the packages of requirements.txt: is there a network?" "$@" -r requirements.txt
    quietly "could not install the project into $VENV" "$@" --no-deps --no-build-isolation --editable .
    packages_note >"$PACKAGES_NOTE"
}

# --- node

is_node() { [ "$("$1" -p 'Number(process.versions.node.split(".")[0]) >= 20' 2>/dev/null)" = true ]; }

node_note() { cat package.json package-lock.json .npmrc | cksum; }

setup_node() {
    node=$VENV/bin/node
    if ! is_node "$node"; then
        rm -f "$node"
        if is_node node && npm --version >/dev/null 2>&1; then
            ln -s "$(node -p process.execPath)" "$node"
        else
            say "putting Node.js into $VENV, because there is no Node.js 20 or newer with npm"
            quietly "could not install Node.js: is there a network? Or install Node.js 20 or newer yourself" \
                "$VENV/bin/python" -m pip install --disable-pip-version-check --no-input --quiet --force-reinstall \
                -r requirements-node.txt
        fi
    fi
    if [ "$(cat "$NODE_NOTE" 2>/dev/null)" = "$(node_note)" ]; then return; fi
    say "putting Pyodide and PyScript into node_modules"
    quietly "npm could not install what the page needs: is there a network?" \
        env "PATH=$PWD/$VENV/bin:$PATH" npm ci --ignore-scripts --no-audit --no-fund
    node_note >"$NODE_NOTE"
}

# --- chromium

is_debian_root() { [ "$(id -u)" = 0 ] && grep -qx 'ID=debian' /etc/os-release 2>/dev/null; }

setup_chromium() {
    if "$VENV/bin/python" scripts/chromium.py >/dev/null; then return; fi
    if [ -n "${CHROMIUM:-}" ]; then exit 1; fi
    say "installing Chromium for the browser tests"
    if is_debian_root; then
        install_debian_chromium
    else
        set -- "$VENV/bin/python" -m playwright install chromium
        if [ "$(id -u)" = 0 ]; then set -- "$@" --with-deps; fi
        quietly "could not install Chromium: install it yourself, or name one: make test CHROMIUM=/path/to/chromium" "$@"
    fi
    "$VENV/bin/python" scripts/chromium.py >/dev/null ||
        die "the Chromium just installed does not start: install one yourself, or name it: make test" \
            "CHROMIUM=/path/to/chromium"
}

install_debian_chromium() {
    set -- env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends chromium
    if "$@" >"$LOG" 2>&1; then rm -f "$LOG"; return; fi
    quietly "apt-get update failed: is there a network?" apt-get update --quiet
    quietly "apt-get could not install chromium" "$@"
}

for part in "$@"; do
    case $part in
        packages | node | chromium) "setup_$part" ;;
        *) die "unknown part '$part': packages, node or chromium" ;;
    esac
done
