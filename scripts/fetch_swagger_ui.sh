#!/bin/sh
# Fetches the files of Swagger UI that /docs is made of, with npm, from whatever registry npm is configured for.
# Without an argument it fetches the version that is here, and compares the files with the hashes in
# service/web_docs/swagger-ui-dist-VERSION.sha256. With a version it takes that one, and writes its hashes: look at
# what changed, then run tests/browser/test_docs.py, and name the version in NOTICE.
set -eu
cd "$(dirname "$0")/../service/web_docs"

FILES='LICENSE NOTICE swagger-ui-bundle.js swagger-ui-bundle.js.LICENSE.txt swagger-ui.css'
sums=$(echo swagger-ui-dist-*.sha256)
here=${sums#swagger-ui-dist-}
here=${here%.sha256}
version=${1:-$here}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm pack --silent --pack-destination "$folder" "swagger-ui-dist@$version" >/dev/null
tar -xzf "$folder"/*.tgz -C "$folder"
if [ "$version" = "$here" ]; then
    (cd "$folder/package" && sha256sum --check --quiet) <"$sums"
else
    git rm -q "$sums"
    sums=swagger-ui-dist-$version.sha256
    # shellcheck disable=SC2086
    (cd "$folder/package" && sha256sum $FILES) >"$sums"
fi
for file in $FILES; do
    cp "$folder/package/$file" "$file"
done
chmod 644 $FILES
echo "swagger-ui-dist $version: $(wc -l <"$sums") files, hashes in $sums"
