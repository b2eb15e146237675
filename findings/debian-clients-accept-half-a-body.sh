#!/usr/bin/env bash
# The server closes the connection in the middle of the body. The client can see it: fewer bytes arrive than `Content-Length` says, or the
# last chunk is missing. Some clients return the first half as if it were everything, with status 200 and without an exception. So half
# of a CSV file looks like a whole one. PHP's streams and Perl's LWP do so for both forms of a body. LWP adds a header `Client-Aborted` to a
# chunked one.
#
# How to read the table: "length": the response has a `Content-Length`. "chunked": it is chunked. "accepts": the program gets the first
# half, and nothing tells it. "error": an exception, an exit code, or a status of the client's own.
#
# Seen on 2026-11-29 with Debian 12: curl 7.88.1-10+deb12u14, wget 1.21.3-1+deb12u1, PHP 8.2.36, ruby 3.1.2, perl 5.36.0 with HTTP::Tiny
# 0.080 and libwww-perl 6.68-1, python3 3.11.2 with python3-requests 2.28.1+dfsg-1 (urllib3 1.26.12-1+deb12u4) and python3-httpx 0.23.3-1,
# OpenJDK 17, Go 1.19.8, libsoup 3.2.3-0+deb12u2.
#
#|                           length   chunked
#| PHP, streams              accepts  accepts
#| Perl, LWP                 accepts  accepts
#| Ruby, Net::HTTP           accepts  error
#| Python, requests          accepts  error
#| Java, HttpURLConnection   accepts  error
#| libsoup 3                 error    accepts
#| curl                      error    error
#| PHP, curl                 error    error
#| Wget                      error    error
#| Perl, HTTP::Tiny          error    error
#| Python, urllib            error    error
#| Python, httpx             error    error
#| Java, java.net.http       error    error
#| Go, net/http              error    error
. "$(dirname "$0")/common.sh"

need curl:curl wget:wget php:php-cli ruby:ruby go:golang-go gjs:gjs javac:default-jdk-headless
print_versions curl wget php8.2-cli php8.2-curl ruby3.1 perl libwww-perl python3-requests python3-urllib3 python3-httpx \
  openjdk-17-jdk-headless golang-1.19-go libsoup-3.0-0

cat > "$folder/server.js" <<'END'
import net from 'node:net';
const bodies = { length: 'content-length: 16\r\n\r\nid,name\n', chunked: 'transfer-encoding: chunked\r\n\r\n8\r\nid,name\n\r\n' };
const server = net.createServer((socket) => {
  socket.on('error', () => {}).once('data', (request) => {
    const [name] = /length|chunked/.exec(request);
    socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/csv\r\n${bodies[name]}`);
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
END
start_program server.js

# Each program gets the URL, and prints the body.
cat > "$folder/by-requests.py" <<'END'
import requests, sys
print(requests.get(sys.argv[1]).text)
END
cat > "$folder/by-urllib.py" <<'END'
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())
END
cat > "$folder/by-httpx.py" <<'END'
import sys, httpx
print(httpx.get(sys.argv[1]).text)
END
cat > "$folder/net-http.rb" <<'END'
require 'net/http'
puts Net::HTTP.get(URI(ARGV[0]))
END
cat > "$folder/lwp.pl" <<'END'
use LWP::UserAgent;
my $response = LWP::UserAgent->new->get($ARGV[0]);
die unless $response->is_success;
print $response->content;
END
cat > "$folder/tiny.pl" <<'END'
use HTTP::Tiny;
my $response = HTTP::Tiny->new->get($ARGV[0]);
die unless $response->{success};
print $response->{content};
END
cat > "$folder/streams.php" <<'END'
<?php
echo file_get_contents($argv[1]);
END
cat > "$folder/curl.php" <<'END'
<?php
$curl = curl_init($argv[1]);
curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);
if (($body = curl_exec($curl)) === false) exit(1);
echo $body;
END
cat > "$folder/Old.java" <<'END'
class Old {
  public static void main(String[] all) throws Exception {
    System.out.write(java.net.URI.create(all[0]).toURL().openStream().readAllBytes());
    System.out.flush();
  }
}
END
cat > "$folder/New.java" <<'END'
import java.net.http.*;
class New {
  public static void main(String[] all) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(java.net.URI.create(all[0])).build();
    System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
  }
}
END
cat > "$folder/get.go" <<'END'
package main

import ("fmt"; "io"; "net/http"; "os")

func main() {
	response, err := http.Get(os.Args[1])
	if err != nil { os.Exit(1) }
	body, err := io.ReadAll(response.Body)
	if err != nil { os.Exit(1) }
	fmt.Println(string(body))
}
END
cat > "$folder/soup.js" <<'END'
imports.gi.versions.Soup = '3.0';
const { Soup } = imports.gi;
const bytes = new Soup.Session().send_and_read(Soup.Message.new('GET', ARGV[0]), null);
print(new TextDecoder().decode(bytes.toArray()));
END
GOCACHE=$folder/go-cache GO111MODULE=off go build -o "$folder/get-go" "$folder/get.go"
javac -d "$folder" "$folder/Old.java" "$folder/New.java"

row() {
  local name body cells=''
  for name in length chunked; do
    if body=$(timeout 20 "${@:2}" "http://127.0.0.1:$(cat "$folder/port")/$name" 2> /dev/null); then
      [ "$body" = id,name ] && cells+='accepts  ' || cells+='other    '
    else
      cells+='error    '
    fi
  done
  printf '%-26s%s\n' "$1" "$cells" | sed 's/ *$//'
}

measure() {
  printf '%-26s%-9s%s\n' '' length chunked
  row 'PHP, streams' php "$folder/streams.php"
  row 'Perl, LWP' perl "$folder/lwp.pl"
  row 'Ruby, Net::HTTP' /usr/bin/ruby "$folder/net-http.rb"
  row 'Python, requests' /usr/bin/python3 "$folder/by-requests.py"
  row 'Java, HttpURLConnection' java -cp "$folder" Old
  row 'libsoup 3' gjs "$folder/soup.js"
  row 'curl' curl -s
  row 'PHP, curl' php "$folder/curl.php"
  row 'Wget' wget -q --tries 1 -O -
  row 'Perl, HTTP::Tiny' perl "$folder/tiny.pl"
  row 'Python, urllib' /usr/bin/python3 "$folder/by-urllib.py"
  row 'Python, httpx' /usr/bin/python3 "$folder/by-httpx.py"
  row 'Java, java.net.http' java -cp "$folder" New
  row 'Go, net/http' "$folder/get-go"
}
check
