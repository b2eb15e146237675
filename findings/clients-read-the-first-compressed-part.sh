#!/usr/bin/env bash
# A body in gzip or zstd may consist of several parts, one after the other (RFC 1952: members, RFC 8878: frames), as `cat a.gz b.gz`, bgzip
# and pzstd write it. Some clients return the contents of the first part, with status 200 and without an error. For gzip, these are
# Net::HTTP of Ruby, LWP of Perl, libsoup, Wget2, httpx, and mod_deflate of Apache. For zstd, it is Node (nodejs/node#64741), and so `fetch`,
# undici, axios and got. curl, Varnish, and `DecompressionStream`, which browsers have too, fail for gzip.
#
# How to read the table: what the program gets, if the server sends `first,` and `second` as two parts in one body.
#
# Seen on 2026-11-29 with Node 24.21.0, the versions of npm in the script, and Debian 12: curl 7.88.1-10+deb12u14, wget2
# 1.99.1-2.2, PHP 8.2.36, ruby 3.1.2, libwww-perl 6.68-1, python3 3.11.2 with python3-requests 2.28.1+dfsg-1 (urllib3 1.26.12-1+deb12u4) and
# python3-httpx 0.23.3-1, OpenJDK 17, Go 1.19.8, libsoup 3.2.3-0+deb12u2, nginx-light 1.22.1-9+deb12u11, varnish 7.1.1-2+deb12u1, apache2
# 2.4.71-1~deb12u1, zstd 1.5.4+dfsg2-5.
#
#| fetch of Node                      first,second
#| undici 8.12.4, decompress()        first,second
#| axios 1.21.1                       first,second
#| got 16.1.0                         first,second
#| superagent 10.4.2                  first,second
#| needle 3.5.0                       first,second
#| node-fetch 3.3.2                   first,second
#| DecompressionStream of Node        error
#| curl --compressed                  error
#| PHP, curl                          error
#| PHP, gzdecode()                    first,
#| Ruby, Net::HTTP                    first,
#| Perl, LWP                          first,
#| Python, requests                   first,second
#| Python, httpx                      first,
#| Python, gzip                       first,second
#| Python, zlib                       first,
#| Java, GZIPInputStream              first,second
#| Go, net/http                       first,second
#| libsoup 3                          first,
#| Wget2                              first,
#| nginx, gunzip on                   first,second
#| Varnish                            error
#| Apache, SetOutputFilter INFLATE    first,
#| zstd: fetch of Node                first,
#| zstd: undici, decompress()         first,
#| zstd: axios                        first,
#| zstd: got                          first,
#| zstd: curl --compressed            first,second
#| zstd: PHP, curl                    first,second
#| zstd: the command zstd             first,second
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/start-proxy.sh"

need npm:npm curl:curl wget2:wget2 php:php-cli ruby:ruby go:golang-go gjs:gjs javac:default-jdk-headless nginx:nginx-light \
  varnishd:varnish apache2:apache2 zstd:zstd
print_versions curl wget2 php8.2-cli php8.2-curl ruby3.1 perl libwww-perl python3-requests python3-urllib3 python3-httpx \
  openjdk-17-jdk-headless golang-1.19-go libsoup-3.0-0 nginx-light varnish apache2 zstd
install_from_npm undici@8.12.4 axios@1.21.1 got@16.1.0 superagent@10.4.2 needle@3.5.0 node-fetch@3.3.2

cat > "$folder/server.js" <<'END'
import http from 'node:http';
import { gzipSync, zstdCompressSync } from 'node:zlib';
const compress = { gzip: gzipSync, zstd: zstdCompressSync };
const server = http.createServer(({ url }, response) => {
  const coding = url.slice(1);
  if (!(coding in compress)) return response.end('ok');
  const body = Buffer.concat(['first,', 'second'].map((part) => compress[coding](part)));
  response.writeHead(200, { 'content-type': 'text/csv', 'content-encoding': coding, 'content-length': body.length }).end(body);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
END
start_program server.js

# Each program gets the URL, and prints the body.
cat > "$folder/by.js" <<'END'
import axios from 'axios';
import got from 'got';
import needle from 'needle';
import nodeFetch from 'node-fetch';
import superagent from 'superagent';
import { getGlobalDispatcher, interceptors, request } from 'undici';

const [name, url] = process.argv.slice(2);
const clients = {
  fetch: async () => (await fetch(url)).text(),
  undici: async () => (await request(url, { dispatcher: getGlobalDispatcher().compose(interceptors.decompress()) })).body.text(),
  axios: async () => (await axios(url)).data,
  got: () => got(url).text(),
  superagent: async () => (await superagent.get(url)).text,
  needle: async () => String((await needle('get', url, null, { compressed: true })).body),
  'node-fetch': async () => (await nodeFetch(url)).text(),
  async stream() {
    const file = await got(url, { decompress: false }).buffer();
    return new Response(new Blob([file]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  },
};
console.log(await clients[name]());
process.exit();
END
cat > "$folder/by-requests.py" <<'END'
import requests, sys
print(requests.get(sys.argv[1]).text)
END
cat > "$folder/by-httpx.py" <<'END'
import httpx, sys
print(httpx.get(sys.argv[1]).text)
END
cat > "$folder/by-gzip.py" <<'END'
import gzip, sys, urllib.request
print(gzip.decompress(urllib.request.urlopen(sys.argv[1]).read()).decode())
END
cat > "$folder/by-zlib.py" <<'END'
import sys, urllib.request, zlib
print(zlib.decompressobj(31).decompress(urllib.request.urlopen(sys.argv[1]).read()).decode())
END
cat > "$folder/net-http.rb" <<'END'
require 'net/http'
puts Net::HTTP.get(URI(ARGV[0]))
END
cat > "$folder/lwp.pl" <<'END'
use LWP::UserAgent;
my $response = LWP::UserAgent->new->get($ARGV[0], 'Accept-Encoding' => 'gzip');
die unless $response->is_success;
print $response->decoded_content // die;
END
cat > "$folder/curl.php" <<'END'
<?php
$curl = curl_init($argv[1]);
curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_ENCODING => '']);
$body = curl_exec($curl);
echo $body === false ? exit(1) : $body;
END
cat > "$folder/gzdecode.php" <<'END'
<?php
echo gzdecode(file_get_contents($argv[1]));
END
cat > "$folder/soup.js" <<'END'
imports.gi.versions.Soup = '3.0';
const { Soup } = imports.gi;
const bytes = new Soup.Session().send_and_read(Soup.Message.new('GET', ARGV[0]), null);
print(new TextDecoder().decode(bytes.toArray()));
END
mkdir "$folder/java" "$folder/go"
cat > "$folder/java/Stream.java" <<'END'
import java.net.URL;
import java.util.zip.GZIPInputStream;

class Stream {
  public static void main(String[] args) throws Exception {
    System.out.println(new String(new GZIPInputStream(new URL(args[0]).openStream()).readAllBytes()));
  }
}
END
cat > "$folder/go/main.go" <<'END'
package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	response, err := http.Get(os.Args[1])
	if err == nil {
		_, err = io.Copy(os.Stdout, response.Body)
	}
	if err != nil {
		os.Exit(1)
	}
}
END
javac -d "$folder/java" "$folder"/java/*.java
GOCACHE=$folder/go/cache GO111MODULE=off go build -o "$folder/go/main" "$folder/go/main.go"

# `row NAME COMMAND…`: the body that the command prints.
row() {
  local body
  body=$(timeout 60 "${@:2}" 2> /dev/null) || body=error
  printf '%-34s %s\n' "$1" "$body"
}

js() { row "$1" "$node" "$folder/by.js" "$2" "$url"; }

measure() {
  url=http://$server/gzip
  js 'fetch of Node' fetch
  js 'undici 8.12.4, decompress()' undici
  js 'axios 1.21.1' axios
  js 'got 16.1.0' got
  js 'superagent 10.4.2' superagent
  js 'needle 3.5.0' needle
  js 'node-fetch 3.3.2' node-fetch
  js 'DecompressionStream of Node' stream
  row 'curl --compressed' curl -sf --compressed "$url"
  row 'PHP, curl' php "$folder/curl.php" "$url"
  row 'PHP, gzdecode()' php "$folder/gzdecode.php" "$url"
  row 'Ruby, Net::HTTP' /usr/bin/ruby "$folder/net-http.rb" "$url"
  row 'Perl, LWP' perl "$folder/lwp.pl" "$url"
  row 'Python, requests' /usr/bin/python3 "$folder/by-requests.py" "$url"
  row 'Python, httpx' /usr/bin/python3 "$folder/by-httpx.py" "$url"
  row 'Python, gzip' /usr/bin/python3 "$folder/by-gzip.py" "$url"
  row 'Python, zlib' /usr/bin/python3 "$folder/by-zlib.py" "$url"
  row 'Java, GZIPInputStream' java -cp "$folder/java" Stream "$url"
  row 'Go, net/http' "$folder/go/main" "$url"
  row 'libsoup 3' gjs "$folder/soup.js" "$url"
  row 'Wget2' wget2 -q -O - "$url"
  start_proxy nginx "server { listen \$proxy; location / { proxy_pass http://$server; gunzip on; } }"
  row 'nginx, gunzip on' curl -sf "http://$proxy/gzip"
  start_proxy varnish
  row 'Varnish' curl -sf "http://$proxy/gzip"
  start_proxy apache "LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
SetOutputFilter INFLATE"
  row 'Apache, SetOutputFilter INFLATE' curl -sf "http://$proxy/gzip"
  url=http://$server/zstd
  js 'zstd: fetch of Node' fetch
  js 'zstd: undici, decompress()' undici
  js 'zstd: axios' axios
  js 'zstd: got' got
  row 'zstd: curl --compressed' curl -sf --compressed "$url"
  row 'zstd: PHP, curl' php "$folder/curl.php" "$url"
  row 'zstd: the command zstd' sh -c 'curl -sf "$0" | zstd -dc' "$url"
}
check
