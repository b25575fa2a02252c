#!/bin/sh
# A browser for tests/surfaces/ui. Where there is none and none can be installed, those tests say so and are skipped.
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 && exit 0
fi
echo "No Chromium here: the tests of the web page are skipped. Install the package chromium to run them."
