#!/usr/bin/env bash
# What becomes of a GET with a body, as some APIs for search expect it. Varnish, @fastify/http-proxy, and the proxies of Hono and h3 send it
# to the server without the body, so the server searches without a condition, and the client gets a 200. lighttpd rejects such a GET, and
# Squid does unless it is chunked. Others forward it, but if they have a cache, they answer the second of two such requests with the result
# of the first one, although their bodies differ. HTTP gives the body of a GET no meaning (RFC 9110, section 9.3.1).
#
# How to read the table: the body that arrives at the server, "no body" if the GET arrives without it, or the status with which the proxy
# rejects the GET. "one": the body of the GET is `one`. "chunked": the same with `Transfer-Encoding: chunked`. "two": the body is `two`,
# after a GET of the same URL with the body `one`; "one" in this column is the response to the other request. All responses of the server
# allow caches. The proxies have their defaults, or what the row says.
#
# Seen on 2026-11-29 with Node 24.21.0, the versions of npm in the script, and Debian 12: varnish 7.1.1-2+deb12u1, squid 5.7-2+deb12u6,
# lighttpd 1.4.69-1, nginx-light 1.22.1-9+deb12u11, haproxy 2.6.12-1+deb12u4, apache2 2.4.71-1~deb12u1, trafficserver 9.2.5+ds-0+deb12u4
# (9.2.9), caddy 2.6.2-5.
#
#|                               one       chunked   two
#| Varnish                       no body   no body   no body
#| Varnish, return (pass)        no body   no body   no body
#| Squid                         411       one       411
#| lighttpd                      400       400       400
#| nginx                         one       one       two
#| nginx, proxy_cache            one       one       one
#| HAProxy                       one       one       two
#| HAProxy, cache                one       one       one
#| Apache                        one       one       two
#| Apache, mod_cache_disk        one       one       one
#| Traffic Server                one       one       one
#| Caddy                         one       one       two
#| http-proxy-middleware 4.2.2   one       one       two
#| @fastify/http-proxy 11.6.3    no body   no body   no body
#| hono 4.13.19, proxy()         no body   no body   no body
#| h3 2.0.8, proxyRequest()      no body   no body   no body
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/start-proxy.sh"
. "$(dirname "$0")/start-npm-proxies.sh"

need npm:npm curl:curl nginx:nginx-light varnishd:varnish haproxy:haproxy squid:squid apache2:apache2 lighttpd:lighttpd \
  traffic_server:trafficserver caddy:caddy
print_versions nginx-light varnish haproxy squid apache2 lighttpd trafficserver caddy
install_from_npm fastify@5.12.8 @fastify/http-proxy@11.6.3 hono@4.13.19 @hono/node-server@2.1.9 h3@2.0.8 http-proxy-middleware@4.2.2

# The response of the server is the body that it got.
cat > "$folder/server.js" <<'END'
export default async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  response.setHeader('cache-control', 'public, max-age=60');
  response.end(body || 'no body');
};
END
start_npm_proxies

# `try PATH BODY [OPTIONS OF CURL]`: the body of the response, or its status.
try() {
  local status
  status=$(curl -s --max-time 10 -o "$folder/body" -w '%{http_code}' -X GET "${@:3}" -d "$2" "$proxy/$1") || true
  if [ "$status" = 200 ]; then cat "$folder/body"; else echo "$status"; fi
}
# `show NAME`: what the proxy of the address $proxy does.
show() {
  local first
  first=$(try first one)
  try both one > /dev/null
  printf '%-29s %-9s %-9s %s\n' "$1" "$first" "$(try chunked one -H 'Transfer-Encoding: chunked')" "$(try both two)"
}
row() {
  start_proxy "${@:2}"
  show "$1"
}
row_of_npm() {
  proxy=$(address_of "$2")
  show "$1"
}

measure() {
  printf '%-29s %-9s %-9s %s\n' '' one chunked two
  row 'Varnish' varnish
  row 'Varnish, return (pass)' varnish 'sub vcl_recv { return (pass); }'
  row 'Squid' squid
  row 'lighttpd' lighttpd
  row 'nginx' nginx
  row 'nginx, proxy_cache' nginx "$(nginx_cache)"
  row 'HAProxy' haproxy
  row 'HAProxy, cache' haproxy "$haproxy_cache"
  row 'Apache' apache
  row 'Apache, mod_cache_disk' apache "$(apache_cache)"
  row 'Traffic Server' trafficserver
  row 'Caddy' caddy
  row_of_npm 'http-proxy-middleware 4.2.2' middleware
  row_of_npm '@fastify/http-proxy 11.6.3' fastify
  row_of_npm 'hono 4.13.19, proxy()' hono
  row_of_npm 'h3 2.0.8, proxyRequest()' h3
}
check
