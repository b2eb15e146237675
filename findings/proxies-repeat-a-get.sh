#!/usr/bin/env bash
# Reverse proxies send a GET again when the server closes the connection without a response, so it arrives at the server more than
# once, and the client gets one 200. HTTP allows this, because a GET should change nothing.
#
# How to read the table: arrivals at the server of one request, "~" if it came on a new connection although an earlier one was
# open, and the status that the client gets. "new" and "kept": the connection between proxy and server, on which the server reads
# the whole request and then closes. "always": the server does so with each arrival. "reset": with a reset instead.
# ">12" is 13 or 14, depending on the machine. Two servers are two names of one server. The proxies have no setting but those in the
# first column; "..._tries 1" is `proxy_next_upstream_tries 1`, which does not count the first attempt on a kept connection.
#
# Seen on 2026-11-28 with Debian 12: nginx-light 1.22.1-9+deb12u11, haproxy 2.6.12-1+deb12u4, apache2 2.4.71-1~deb12u1,
# varnish 7.1.1-2+deb12u1, squid 5.7-2+deb12u6, caddy 2.6.2-5, trafficserver 9.2.5+ds-0+deb12u4 (9.2.9), lighttpd 1.4.69-1.
#
#|                                          GET new  GET kept    always     reset POST kept
#| nginx, one server                          1 502    1~ 502    1~ 502    1~ 502    1~ 502
#| nginx, keepalive                           1 502     2 200     2 502     2 200     1 502
#| nginx, keepalive, ..._tries 1              1 502     2 200     2 502     2 200     1 502
#| nginx, two servers, max_fails=0            2 200    2~ 200    2~ 502    2~ 200    1~ 502
#| Varnish                                    1 503     2 200     2 503    1~ 503    1~ 503
#| Squid                                      1 502     2 200     2 502     1 502    1~ 502
#| Squid, two peers                           2 200     2 200     3 502     2 200    1~ 502
#| Caddy                                      1 502     2 200     2 502     2 200     1 502
#| Caddy, two servers, lb_try_duration 3s     2 200     2 200   >12 502     2 200     1 502
#| Traffic Server                             2 200     2 200     4 502     2 200     1 502
#| HAProxy                                      1 -       1 -       1 -       1 -       1 -
#| HAProxy, all-retryable-errors              2 200     2 200       4 -     2 200     2 200
#| Apache                                       1 -       1 -       1 -       1 -       1 -
#| lighttpd                                   1 500    1~ 500    1~ 500    1~ 500    1~ 500
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/start-proxy.sh"

need nginx:nginx-light haproxy:haproxy apache2:apache2 varnishd:varnish squid:squid caddy:caddy traffic_server:trafficserver \
  lighttpd:lighttpd
print_versions nginx-light haproxy apache2 varnish squid caddy trafficserver lighttpd
start_server

# `try WARM METHOD REPLY`: one request, after another one on the same connection of the client.
try() {
  local url="http://$proxy/?case" status arrivals
  number=$((${number:-0} + 1))
  status=$("$node" "$here/request.ts" "$2" "$url=$number&reply=$3" "$url=warm&reply=$1")
  arrivals=$(count "$number")
  ((arrivals <= 12)) || arrivals='>12'
  if [ "$1" = ok ] && ! is_kept "$number"; then arrivals+='~'; fi
  printf ' %9s' "$arrivals $status"
}

row() {
  printf '%-38s' "$1"
  start_proxy "${@:2}"
  try last GET close-first
  try ok GET close-first
  try ok GET close
  try ok GET reset-first
  try ok POST close-first
  echo
}

measure() {
  printf '%-38s %9s %9s %9s %9s %9s\n' '' 'GET new' 'GET kept' 'always' 'reset' 'POST kept'
  row 'nginx, one server' nginx
  row 'nginx, keepalive' nginx "upstream out { server $server; keepalive 4; }
    server { listen \$proxy; location / { proxy_pass http://out; proxy_http_version 1.1; proxy_set_header Connection ''; } }"
  row 'nginx, keepalive, ..._tries 1' nginx "upstream out { server $server; keepalive 4; }
    server { listen \$proxy; proxy_next_upstream_tries 1;
      location / { proxy_pass http://out; proxy_http_version 1.1; proxy_set_header Connection ''; } }"
  row 'nginx, two servers, max_fails=0' nginx "upstream out { server $server max_fails=0; server $server max_fails=0; }
    server { listen \$proxy; location / { proxy_pass http://out; } }"
  row 'Varnish' varnish
  row 'Squid' squid
  row 'Squid, two peers' squid "cache_peer ${server%:*} parent ${server#*:} 0 no-query no-digest originserver name=two"
  row 'Caddy' caddy
  second_server=$server row 'Caddy, two servers, lb_try_duration 3s' caddy 'lb_try_duration 3s'
  row 'Traffic Server' trafficserver
  row 'HAProxy' haproxy
  row 'HAProxy, all-retryable-errors' haproxy 'retry-on all-retryable-errors'
  row 'Apache' apache
  row 'lighttpd' lighttpd
}
check
