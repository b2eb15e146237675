#!/usr/bin/env bash
# What a timeout of two seconds does in HTTP clients. Many of them wait longer than it says, without an error. In ofetch, ky and
# java.net.http, the timeout ends once the headers have arrived. If the body then stops, the client waits as long as the server likes. In
# ky, this depends on whether `.text()` is called before or after `await`. In axios, Ruby, Perl, Python and others, each byte starts the
# timeout again, so it does not end a slow body. axios with its adapter for `fetch` does end one. The `timeout` of needle applies to
# connecting only.
#
# How to read the table: "silent": the server sends nothing for five seconds. "stops": it sends the headers and one byte, and the rest
# five seconds later. "slow": it sends a byte every 0.3 s for five seconds. "ends": the client gives up with an error. "waits": it returns
# the whole response after five seconds.
#
# Seen on 2026-11-29 with Node 24.21.0, the versions of npm in the script, and Debian 12: curl 7.88.1-10+deb12u14, wget
# 1.21.3-1+deb12u1, PHP 8.2.36, ruby 3.1.2, perl 5.36.0 with HTTP::Tiny 0.080 and libwww-perl 6.68-1, python3 3.11.2 with python3-requests
# 2.28.1+dfsg-1 (urllib3 1.26.12-1+deb12u4) and python3-httpx 0.23.3-1, OpenJDK 17, Go 1.19.8.
#
#|                                      silent   stops    slow
#| fetch, AbortSignal.timeout()         ends     ends     ends
#| got 16.1.0, timeout.request          ends     ends     ends
#| superagent 10.4.2, timeout()         ends     ends     ends
#| wretch 3.0.9, setTimeout()           ends     ends     ends
#| axios 1.21.1, adapter: fetch         ends     ends     ends
#| Azure core-rest-pipeline 1.25.1      ends     ends     ends
#| gaxios 8.3.3                         ends     ends     ends
#| make-fetch-happen 16.0.1             ends     ends     ends
#| axios, timeout                       ends     ends     waits
#| http of Node, timeout                ends     ends     waits
#| undici 8.12.4, bodyTimeout           ends     ends     waits
#| ky 2.1.0, ky().text()                ends     ends     ends
#| ky, (await ky()).text()              ends     waits    waits
#| ofetch 1.5.1, timeout                ends     waits    waits
#| needle 3.5.0, timeout                waits    waits    waits
#| curl, --max-time                     ends     ends     ends
#| Wget, --timeout                      ends     ends     waits
#| PHP, curl                            ends     ends     ends
#| PHP, streams                         ends     ends     waits
#| Ruby, Net::HTTP                      ends     ends     waits
#| Perl, LWP                            ends     ends     waits
#| Perl, HTTP::Tiny                     ends     ends     waits
#| Python, requests                     ends     ends     waits
#| Python, urllib                       ends     ends     waits
#| Python, httpx                        ends     ends     waits
#| Java, java.net.http                  ends     waits    waits
#| Java, HttpURLConnection              ends     ends     waits
#| Go, Client.Timeout                   ends     ends     ends
. "$(dirname "$0")/common.sh"

need npm:npm curl:curl wget:wget php:php-cli ruby:ruby go:golang-go javac:default-jdk-headless
print_versions curl wget php8.2-cli php8.2-curl ruby3.1 perl libwww-perl python3-requests python3-urllib3 python3-httpx \
  openjdk-17-jdk-headless golang-1.19-go
install_from_npm undici@8.12.4 axios@1.21.1 got@16.1.0 ky@2.1.0 ofetch@1.5.1 superagent@10.4.2 needle@3.5.0 wretch@3.0.9 \
  make-fetch-happen@16.0.1 gaxios@8.3.3 @azure/core-rest-pipeline@1.25.1

cat > "$folder/server.js" <<'END'
import http from 'node:http';
import { setTimeout } from 'node:timers/promises';
const server = http.createServer(async ({ url }, response) => {
  if (url === '/now') return response.end('c');
  if (url !== '/silent') response.write('a');
  for (let step = 0; step < 17; step++) {
    await setTimeout(300);
    if (url === '/slow') response.write('b');
  }
  response.end('c');
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
END
start_program server.js

# Each program gets the URL. Its exit code says whether it gets the response.
cat > "$folder/by.js" <<'END'
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { createDefaultHttpClient, createPipelineRequest } from '@azure/core-rest-pipeline';
import axios from 'axios';
import { request as gaxios } from 'gaxios';
import got from 'got';
import ky from 'ky';
import makeFetchHappen from 'make-fetch-happen';
import needle from 'needle';
import { ofetch } from 'ofetch';
import superagent from 'superagent';
import { request } from 'undici';
import wretch from 'wretch';
import abort from 'wretch/addons/abort';

const [name, url] = process.argv.slice(2);
const timeout = 2000;
const clients = {
  fetch: async () => (await fetch(url, { signal: AbortSignal.timeout(timeout) })).text(),
  http: () =>
    new Promise((resolve, reject) => {
      const sent = http.get(url, { timeout }, (response) => text(response).then(resolve, reject));
      sent.on('timeout', () => sent.destroy(new Error('timeout'))).on('error', reject);
    }),
  undici: async () => (await request(url, { headersTimeout: timeout, bodyTimeout: timeout })).body.text(),
  axios: () => axios(url, { timeout }),
  'axios-fetch': () => axios(url, { timeout, adapter: 'fetch' }),
  got: () => got(url, { timeout: { request: timeout }, retry: { limit: 0 } }),
  ky: () => ky(url, { timeout, retry: 0 }).text(),
  'ky-await': async () => (await ky(url, { timeout, retry: 0 })).text(),
  ofetch: () => ofetch(url, { timeout, retry: 0 }),
  superagent: () => superagent.get(url).timeout(timeout),
  needle: () => needle('get', url, null, { timeout }),
  wretch: () => wretch(url).addon(abort()).get().setTimeout(timeout).text(),
  'make-fetch-happen': async () => (await makeFetchHappen(url, { timeout, retry: 0 })).text(),
  gaxios: () => gaxios({ url, timeout, retry: false }),
  azure: () => createDefaultHttpClient().sendRequest(createPipelineRequest({ url, timeout, allowInsecureConnection: true })),
};
await clients[name]();
process.exit();
END
cat > "$folder/streams.php" <<'END'
<?php
ini_set('default_socket_timeout', '2');
$got = file_get_contents($argv[1]);
exit($got !== false && str_ends_with($got, 'c') ? 0 : 1);
END
cat > "$folder/curl.php" <<'END'
<?php
$curl = curl_init($argv[1]);
curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 2]);
exit(curl_exec($curl) === false ? 1 : 0);
END
cat > "$folder/net-http.rb" <<'END'
require 'net/http'
uri = URI(ARGV[0])
Net::HTTP.start(uri.host, uri.port, open_timeout: 2, read_timeout: 2, max_retries: 0) { |http| http.get(uri.path) }
END
cat > "$folder/lwp.pl" <<'END'
use LWP::UserAgent;
my $response = LWP::UserAgent->new(timeout => 2)->get($ARGV[0]);
exit($response->is_success && $response->content =~ /c$/ ? 0 : 1);
END
cat > "$folder/tiny.pl" <<'END'
use HTTP::Tiny;
exit(HTTP::Tiny->new(timeout => 2)->get($ARGV[0])->{success} ? 0 : 1);
END
cat > "$folder/by-requests.py" <<'END'
import requests, sys
requests.get(sys.argv[1], timeout=2)
END
cat > "$folder/by-urllib.py" <<'END'
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=2).read()
END
cat > "$folder/by-httpx.py" <<'END'
import httpx, sys
httpx.get(sys.argv[1], timeout=2)
END
mkdir "$folder/java" "$folder/go"
cat > "$folder/java/Request.java" <<'END'
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

class Request {
  public static void main(String[] args) throws Exception {
    var client = HttpClient.newHttpClient();
    // The first request takes longer, because Java loads the client.
    client.send(HttpRequest.newBuilder(URI.create(args[0]).resolve("/now")).build(), BodyHandlers.ofString());
    client.send(HttpRequest.newBuilder(URI.create(args[0])).timeout(Duration.ofSeconds(2)).build(), BodyHandlers.ofString());
  }
}
END
cat > "$folder/java/Connection.java" <<'END'
import java.net.URL;

class Connection {
  public static void main(String[] args) throws Exception {
    var connection = new URL(args[0]).openConnection();
    connection.setReadTimeout(2000);
    connection.getInputStream().readAllBytes();
  }
}
END
cat > "$folder/go/main.go" <<'END'
package main

import (
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	client := http.Client{Timeout: 2 * time.Second}
	response, err := client.Get(os.Args[1])
	if err == nil {
		_, err = io.ReadAll(response.Body)
	}
	if err != nil {
		os.Exit(1)
	}
}
END
javac -d "$folder/java" "$folder"/java/*.java
GOCACHE=$folder/go/cache GO111MODULE=off go build -o "$folder/go/main" "$folder/go/main.go"

# `try FILE COMMAND…`: waits for the end of one client.
try() { if timeout 60 "${@:2}" > /dev/null 2>&1; then echo waits; else echo ends; fi > "$1"; }

# The three cases of a row at the same time, and two rows at the same time. A client that gets no response at once does not work at all.
row() {
  number=$((${number:-0} + 1))
  print_row "$folder/$(printf '%02d' "$number")" "$@" &
  rows+=($!)
  ((number % 2)) || wait "${rows[@]}"
}

print_row() {
  local file=$1 name=$2 case children=()
  timeout 60 "${@:3}" "http://$server/now" > /dev/null || name+=' does not work'
  for case in silent stops slow; do
    try "$file.$case" "${@:3}" "http://$server/$case" &
    children+=($!)
  done
  wait "${children[@]}"
  printf '%-36s %-8s %-8s %s\n' "$name" "$(cat "$file.silent")" "$(cat "$file.stops")" "$(cat "$file.slow")" > "$file.row"
}

js() { row "$1" "$node" "$folder/by.js" "$2"; }

rows=()
measure() {
  printf '%-36s %-8s %-8s %s\n' '' silent stops slow
  js 'fetch, AbortSignal.timeout()' fetch
  js 'got 16.1.0, timeout.request' got
  js 'superagent 10.4.2, timeout()' superagent
  js 'wretch 3.0.9, setTimeout()' wretch
  js 'axios 1.21.1, adapter: fetch' axios-fetch
  js 'Azure core-rest-pipeline 1.25.1' azure
  js 'gaxios 8.3.3' gaxios
  js 'make-fetch-happen 16.0.1' make-fetch-happen
  js 'axios, timeout' axios
  js 'http of Node, timeout' http
  js 'undici 8.12.4, bodyTimeout' undici
  js 'ky 2.1.0, ky().text()' ky
  js 'ky, (await ky()).text()' ky-await
  js 'ofetch 1.5.1, timeout' ofetch
  js 'needle 3.5.0, timeout' needle
  row 'curl, --max-time' curl -s --max-time 2
  row 'Wget, --timeout' wget -q -O - --tries 1 --timeout 2
  row 'PHP, curl' php "$folder/curl.php"
  row 'PHP, streams' php "$folder/streams.php"
  row 'Ruby, Net::HTTP' /usr/bin/ruby "$folder/net-http.rb"
  row 'Perl, LWP' perl "$folder/lwp.pl"
  row 'Perl, HTTP::Tiny' perl "$folder/tiny.pl"
  row 'Python, requests' /usr/bin/python3 "$folder/by-requests.py"
  row 'Python, urllib' /usr/bin/python3 "$folder/by-urllib.py"
  row 'Python, httpx' /usr/bin/python3 "$folder/by-httpx.py"
  row 'Java, java.net.http' java -cp "$folder/java" Request
  row 'Java, HttpURLConnection' java -cp "$folder/java" Connection
  row 'Go, Client.Timeout' "$folder/go/main"
  wait "${rows[@]}"
  cat "$folder"/*.row
}
check
