#!/bin/sh
# The recording in the README: run it again when what the commands print has changed.
set -e
ENGRAMS_HOME=$(mktemp -d)
export ENGRAMS_HOME COLUMNS=100
trap 'rm -rf "$ENGRAMS_HOME"' EXIT

run() {
    printf '$ engrams'
    for word in "$@"; do
        case $word in *" "*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    engrams "$@" 2>&1
}

run add --at 2025-01-10 "I live in Paris."
run add --at 2026-03-02 "I moved to Berlin."
run search "Where do I live?"
run search --as-of 2025-06-01 "Where do I live?"
run explain -n 1 "Where do I live?"
