#!/usr/bin/env bash
# If a server's chunked response breaks off in its body, Caddy and lighttpd send the last chunk themselves, even after a reset by the
# server. So the client gets a complete response with status 200 and half of the body, and cannot see that the rest is missing.
# nginx does so by default if the connection is closed, because it asks the server with HTTP/1.0, which has no last chunk.
#
# How to read the table: whether the response that curl gets is "complete" or "broken off", its status, and how many bytes of its body
# arrive. "closed": the server sends 8 bytes in a chunk, and half a second later closes the connection. "reset": it resets the
# connection. The proxies have no setting but those in the first column.
#
# Seen on 2026-11-29 with Debian 12: nginx-light 1.22.1-9+deb12u11, haproxy 2.6.12-1+deb12u4, apache2 2.4.71-1~deb12u1,
# varnish 7.1.1-2+deb12u1, squid 5.7-2+deb12u6, caddy 2.6.2-5, trafficserver 9.2.5+ds-0+deb12u4 (9.2.9), lighttpd 1.4.69-1.
#
#|                                closed                    reset
#| no proxy                       broken off, 200, 8 bytes  broken off, 200, 8 bytes
#| Caddy                          complete, 200, 8 bytes    complete, 200, 8 bytes
#| lighttpd                       complete, 200, 8 bytes    complete, 200, 8 bytes
#| nginx                          complete, 200, 8 bytes    broken off, 200, 0 bytes
#| nginx, proxy_http_version 1.1  broken off, 200, 8 bytes  broken off, 200, 8 bytes
#| Varnish                        broken off, 200, 8 bytes  broken off, 200, 8 bytes
#| Squid                          broken off, 200, 8 bytes  broken off, 200, 8 bytes
#| HAProxy                        broken off, 200, 8 bytes  broken off, 200, 8 bytes
#| Apache                         broken off, 200, 8 bytes  broken off, 200, 8 bytes
#| Traffic Server                 broken off, 200, 8 bytes  broken off, 200, 8 bytes
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/start-proxy.sh"

need nginx:nginx-light haproxy:haproxy apache2:apache2 varnishd:varnish squid:squid caddy:caddy traffic_server:trafficserver \
  lighttpd:lighttpd
print_versions nginx-light haproxy apache2 varnish squid caddy trafficserver lighttpd

cat > "$folder/server.js" <<'END'
import http from 'node:http';
const server = http.createServer(({ url }, response) => {
  response.writeHead(200, { 'content-type': 'text/csv' });
  if (url !== '/closed' && url !== '/reset') return response.end();
  response.write('id,name\n');
  // Some proxies pass nothing on if both come at once.
  setTimeout(() => (url === '/closed' ? response.socket.end() : response.socket.resetAndDestroy()), 500);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
END
start_program server.js

row() {
  local how got status cells=''
  [ "$2" = none ] && proxy=$server || start_proxy "${@:2}"
  for how in closed reset; do
    status=complete
    got=$(curl -s -m 10 -o /dev/null -w '%{http_code}, %{size_download} bytes' "$proxy/$how") || status='broken off'
    cells+=$(printf '%-26s' "$status, $got")
  done
  printf '%-31s%s\n' "$1" "$cells" | sed 's/ *$//'
}

measure() {
  printf '%-31s%-26s%s\n' '' closed reset
  row 'no proxy' none
  row 'Caddy' caddy
  row 'lighttpd' lighttpd
  row 'nginx' nginx
  row 'nginx, proxy_http_version 1.1' nginx "server { listen \$proxy; location / { proxy_pass http://$server; proxy_http_version 1.1; } }"
  row 'Varnish' varnish
  row 'Squid' squid
  row 'HAProxy' haproxy
  row 'Apache' apache
  row 'Traffic Server' trafficserver
}
check
