#!/usr/bin/env bash
# nginx with `proxy_cache`, and Varnish, send a GET to the server where the client has sent a HEAD, so that they can keep the body. nginx
# does so also where `proxy_no_cache` and `proxy_cache_bypass` keep the request out of its cache, and for requests with `Authorization`. So
# a monitor or a link preview that sends a HEAD triggers what the server does for a GET, and the server cannot tell them apart.
# `proxy_cache_convert_head off` and `return (pass)` stop it. The other proxies pass on a HEAD, also with a cache.
#
# How to read the table: the method that arrives at the server after a HEAD of the client. "plain": a request of curl. "token": it has
# `Authorization`. "no-store": it also has `Cache-Control: no-store`. `beresp.uncacheable` and `return (…)` are lines of the configuration
# of Varnish.
#
# Seen on 2026-11-29 with Node 24.21.0 and Debian 12: nginx-light 1.22.1-9+deb12u11, varnish 7.1.1-2+deb12u1, haproxy 2.6.12-1+deb12u4,
# squid 5.7-2+deb12u6, apache2 2.4.71-1~deb12u1, lighttpd 1.4.69-1, trafficserver 9.2.5+ds-0+deb12u4 (9.2.9), caddy 2.6.2-5.
#
#|                                               plain     token     no-store
#| nginx                                         HEAD      HEAD      HEAD
#| nginx, proxy_cache                            GET       GET       GET
#| proxy_cache, proxy_no_cache and _bypass       GET       GET       GET
#| proxy_cache, proxy_cache_convert_head off     HEAD      HEAD      HEAD
#| proxy_cache, off in the location              HEAD      HEAD      HEAD
#| Varnish                                       GET       HEAD      HEAD
#| Varnish, return (hash)                        GET       GET       GET
#| Varnish, beresp.uncacheable                   GET       HEAD      HEAD
#| Varnish, return (pass)                        HEAD      HEAD      HEAD
#| HAProxy                                       HEAD      HEAD      HEAD
#| HAProxy, cache                                HEAD      HEAD      HEAD
#| Squid                                         HEAD      HEAD      HEAD
#| Apache                                        HEAD      HEAD      HEAD
#| Apache, mod_cache_disk                        HEAD      HEAD      HEAD
#| lighttpd                                      HEAD      HEAD      HEAD
#| Traffic Server                                HEAD      HEAD      HEAD
#| Caddy                                         HEAD      HEAD      HEAD
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/start-proxy.sh"

need curl:curl nginx:nginx-light varnishd:varnish haproxy:haproxy squid:squid apache2:apache2 lighttpd:lighttpd \
  traffic_server:trafficserver caddy:caddy
print_versions nginx-light varnish haproxy squid apache2 lighttpd trafficserver caddy

# `/methods?NAME` responds with the methods with which `/NAME` was requested.
cat > "$folder/server.js" <<'END'
import http from 'node:http';
const methods = {};
const server = http.createServer(({ method, url }, response) => {
  if (url.startsWith('/methods?')) return response.end(methods[url.slice('/methods?'.length)]?.join(' ') ?? 'none');
  (methods[url.slice(1)] ??= []).push(method);
  response.end('ok');
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
END
start_program server.js

# `try COLUMN [OPTIONS OF CURL]`
try() {
  local name=$next_port-$1
  curl -s -I --max-time 10 -o /dev/null "${@:2}" "http://$proxy/$name"
  printf ' %-9s' "$(curl -s "$server/methods?$name")"
}

row() {
  local token=(-H 'Authorization: Bearer a.b.c')
  start_proxy "${@:2}"
  echo "$(printf '%-45s' "$1")$(try plain)$(try token "${token[@]}")$(try no-store "${token[@]}" -H 'Cache-Control: no-store')" | sed 's/ *$//'
}

measure() {
  printf '%-45s %-9s %-9s %s\n' '' plain token no-store
  row 'nginx' nginx
  row 'nginx, proxy_cache' nginx "$(nginx_cache)"
  row 'proxy_cache, proxy_no_cache and _bypass' nginx "$(nginx_cache 'proxy_no_cache 1; proxy_cache_bypass 1;')"
  row 'proxy_cache, proxy_cache_convert_head off' nginx \
    "$(nginx_cache 'proxy_cache_convert_head off; proxy_cache_key "$request_method $request_uri";')"
  row 'proxy_cache, off in the location' nginx "proxy_cache one; $(nginx_cache | sed 's/proxy_cache one;/proxy_cache off;/')"
  row 'Varnish' varnish
  row 'Varnish, return (hash)' varnish 'sub vcl_recv { return (hash); }'
  row 'Varnish, beresp.uncacheable' varnish 'sub vcl_backend_response { set beresp.uncacheable = true; return (deliver); }'
  row 'Varnish, return (pass)' varnish 'sub vcl_recv { return (pass); }'
  row 'HAProxy' haproxy
  row 'HAProxy, cache' haproxy "$haproxy_cache"
  row 'Squid' squid
  row 'Apache' apache
  row 'Apache, mod_cache_disk' apache "$(apache_cache)"
  row 'lighttpd' lighttpd
  row 'Traffic Server' trafficserver
  row 'Caddy' caddy
}
check
