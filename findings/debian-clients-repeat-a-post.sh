#!/usr/bin/env bash
# HTTP clients that send a POST with a body again by themselves, because the connection closed without a response, and those that do
# not. Those that repeat it do so on a connection that was used before, and cannot know whether the server has processed it. Java's
# HttpURLConnection and Wget repeat it on a new connection, too.
#
# How to read the table: how often one request arrives at the server, which reads the first one and closes the connection without a
# response. "new" and "kept": the connection. "~": the client opens a new connection for it. "POST key": with `Idempotency-Key`.
#
# Seen on 2026-11-28 with Debian 12: curl 7.88.1-10+deb12u14, wget 1.21.3-1+deb12u1, python3-requests 2.28.1+dfsg-1, ruby 3.1.2, PHP
# 8.2.36 with libcurl 7.88.1, Go 1.19.8, OpenJDK 17.0.15, perl 5.36.0 with HTTP::Tiny 0.080, libsoup 3.2.3-0+deb12u2.
#
#|                                     POST new POST kept  POST key   GET new  GET kept
#| curl                                       1         2         2         1         2
#| PHP, curl                                  1         2         2         1         2
#| Go, net/http                               1         1         2         1         2
#| Java, HttpURLConnection                    2         2         2         2         2
#| Java, java.net.http                        1         1         1         2         2
#| Wget                                       2         2         2         2         2
#| Python, requests                           1         1         1         1         1
#| Ruby, Net::HTTP                            1         1         1         2         2
#| Perl, HTTP::Tiny                           1         1         1         2         2
#| libsoup 3                                  1        1~        1~         1         2
. "$(dirname "$0")/common.sh"

need curl:curl wget:wget php:php-cli ruby:ruby go:golang-go gjs:gjs javac:default-jdk-headless
print_versions curl wget python3-requests ruby php-curl golang-go libsoup-3.0-0 perl
java -version 2>&1 | head -n 1
start_server

# Each program gets `METHOD [URL OF A GET BEFORE] URL`, and the key in $KEY if there is one.
cat > "$folder/urls.py" <<'END'
import os, sys, requests
session = requests.Session()
*before, url = sys.argv[2:]
for earlier in before: session.get(earlier)
headers = {'Idempotency-Key': os.environ['KEY']} if 'KEY' in os.environ else {}
session.request(sys.argv[1], url, headers=headers, data='{}' if sys.argv[1] == 'POST' else None)
END
cat > "$folder/urls.rb" <<'END'
require 'net/http'
method, *before, url = ARGV
uri = URI(url)
Net::HTTP.start(uri.host, uri.port) do |http|
  before.each { |earlier| http.get(URI(earlier).request_uri) }
  headers = ENV['KEY'] ? { 'Idempotency-Key' => ENV['KEY'] } : {}
  method == 'POST' ? http.post(uri.request_uri, '{}', headers) : http.get(uri.request_uri, headers)
end
END
cat > "$folder/urls.php" <<'END'
<?php
$curl = curl_init();
curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);
foreach (array_slice($argv, 2, -1) as $earlier) { curl_setopt($curl, CURLOPT_URL, $earlier); curl_exec($curl); }
curl_setopt($curl, CURLOPT_URL, end($argv));
if (getenv('KEY')) curl_setopt($curl, CURLOPT_HTTPHEADER, ['Idempotency-Key: ' . getenv('KEY')]);
if ($argv[1] == 'POST') curl_setopt($curl, CURLOPT_POSTFIELDS, '{}');
curl_exec($curl);
END
cat > "$folder/urls.go" <<'END'
package main

import ("io"; "net/http"; "os"; "strings")

func main() {
	last := len(os.Args) - 1
	for _, earlier := range os.Args[2:last] {
		if response, err := http.Get(earlier); err == nil { io.Copy(io.Discard, response.Body); response.Body.Close() }
	}
	var body io.Reader
	if os.Args[1] == "POST" { body = strings.NewReader("{}") }
	request, _ := http.NewRequest(os.Args[1], os.Args[last], body)
	if key := os.Getenv("KEY"); key != "" { request.Header.Set("Idempotency-Key", key) }
	http.DefaultClient.Do(request)
}
END
cat > "$folder/Urls.java" <<'END'
import java.net.*;
import java.net.http.*;

class Urls {
  public static void main(String[] all) throws Exception {
    boolean isOld = all[0].equals("old"), isPost = all[1].equals("POST");
    String key = System.getenv("KEY");
    HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    for (int i = 2; i < all.length; i++) {
      boolean isLast = i == all.length - 1, sendsBody = isLast && isPost;
      URI uri = URI.create(all[i]);
      if (isOld) {
        HttpURLConnection one = (HttpURLConnection) uri.toURL().openConnection();
        if (isLast && key != null) one.setRequestProperty("Idempotency-Key", key);
        if (sendsBody) { one.setDoOutput(true); one.getOutputStream().write("{}".getBytes()); }
        one.getInputStream().readAllBytes();
      } else {
        HttpRequest.Builder one = HttpRequest.newBuilder(uri);
        if (isLast && key != null) one.header("Idempotency-Key", key);
        if (sendsBody) one.POST(HttpRequest.BodyPublishers.ofString("{}"));
        client.send(one.build(), HttpResponse.BodyHandlers.ofString());
      }
    }
  }
}
END
cat > "$folder/urls.js" <<'END'
imports.gi.versions.Soup = '3.0';
const { GLib, Soup } = imports.gi;
const session = new Soup.Session();
const [method, ...urls] = ARGV;
urls.forEach((url, index) => {
  const isLast = index === urls.length - 1;
  const message = Soup.Message.new(isLast ? method : 'GET', url);
  const key = GLib.getenv('KEY');
  if (isLast && key) message.request_headers.append('Idempotency-Key', key);
  if (isLast && method === 'POST') message.set_request_body_from_bytes('text/plain', new GLib.Bytes('{}'));
  try { session.send_and_read(message, null); } catch {}
});
END
cat > "$folder/urls.pl" <<'END'
use HTTP::Tiny;
my ($method, @urls) = @ARGV;
my ($url, $http) = (pop @urls, HTTP::Tiny->new);
$http->get($_) for @urls;
my %headers = $ENV{KEY} ? ('idempotency-key' => $ENV{KEY}) : ();
$http->request($method, $url, { headers => \%headers, $method eq 'POST' ? (content => '{}') : () });
END
GOCACHE=$folder/go-cache GO111MODULE=off go build -o "$folder/urls-go" "$folder/urls.go"
javac -d "$folder" "$folder/Urls.java"

cat > "$folder/by-curl" <<'END'
method=$1 before=() options=()
shift
(($# == 2)) && before=("$1" -o /dev/null --next -s) && shift
[ "$method" = POST ] && options=(-d '{}')
[ -n "${KEY:-}" ] && options+=(-H "Idempotency-Key: $KEY")
curl -s "${before[@]}" "${options[@]}" "$1"
END
# The method of Wget counts for all URLs, so that the one before is a POST, too.
cat > "$folder/by-wget" <<'END'
method=$1 options=(-q -O - --tries 3)
shift
[ "$method" = POST ] && options+=(--post-data '{}')
[ -n "${KEY:-}" ] && options+=(--header "Idempotency-Key: $KEY")
wget "${options[@]}" "$@"
END

# `try new|kept METHOD COMMAND…`
try() {
  local before=() mark=''
  number=$((${number:-0} + 1))
  [ "$1" = kept ] && before=("http://$server/?case=before")
  timeout 20 "${@:3}" "$2" "${before[@]}" "http://$server/?case=$number&reply=close-first" > /dev/null 2>&1 || true
  if [ "$1" = kept ] && ! is_kept "$number"; then mark='~'; fi
  printf ' %9s' "$(count "$number")$mark"
}

row() {
  printf '%-34s' "$1"
  shift
  try new POST "$@"
  try kept POST "$@"
  KEY=k try kept POST "$@"
  try new GET "$@"
  try kept GET "$@"
  echo
}

measure() {
  printf '%-34s %9s %9s %9s %9s %9s\n' '' 'POST new' 'POST kept' 'POST key' 'GET new' 'GET kept'
  row 'curl' bash "$folder/by-curl"
  row 'PHP, curl' php "$folder/urls.php"
  row 'Go, net/http' "$folder/urls-go"
  row 'Java, HttpURLConnection' java -cp "$folder" Urls old
  row 'Java, java.net.http' java -cp "$folder" Urls new
  row 'Wget' bash "$folder/by-wget"
  row 'Python, requests' /usr/bin/python3 "$folder/urls.py"
  row 'Ruby, Net::HTTP' ruby "$folder/urls.rb"
  row 'Perl, HTTP::Tiny' /usr/bin/perl "$folder/urls.pl"
  row 'libsoup 3' gjs "$folder/urls.js"
}
check
