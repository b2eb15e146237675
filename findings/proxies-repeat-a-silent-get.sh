#!/usr/bin/env bash
# A server that reads a GET and does not answer gets it again from some reverse proxies, each time their timeout has passed. Traffic
# Server does so also after the client has left. The timeouts are 2 s here. By default they are 30 s (Traffic Server, so the
# arrivals are at 0, 30, 60 and 90 s) and 60 s (nginx). HAProxy has none of its own; its examples have 50 s.
#
# How to read the table: how often the request arrives at the server, about two seconds apart. "waits": the client waits for the
# end. "leaves": the client closes its connection after one second.
#
# Seen on 2026-11-28 with Debian 12: nginx-light 1.22.1-9+deb12u11, haproxy 2.6.12-1+deb12u4, caddy 2.6.2-5,
# trafficserver 9.2.5+ds-0+deb12u4 (9.2.9), varnish 7.1.1-2+deb12u1.
#
#|                                 waits leaves
#| Traffic Server                      4      4
#| HAProxy, all-retryable-errors       4      4
#| nginx, two servers                  2      1
#| HAProxy                             1      1
#| Caddy                               1      1
#| Varnish                             1      1
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/start-proxy.sh"

need nginx:nginx-light haproxy:haproxy varnishd:varnish caddy:caddy traffic_server:trafficserver
print_versions nginx-light haproxy varnish caddy trafficserver
start_server

waiting=()
labels=()

start_row() {
  labels+=("$1")
  start_proxy "${@:2}"
  local url="http://$proxy/?reply=silent&case=${#labels[@]}"
  curl -s -m 20 -o /dev/null "$url-waits" &
  waiting+=($!)
  curl -s -m 1 -o /dev/null "$url-leaves" &
  waiting+=($!)
}

measure() {
  start_row 'Traffic Server' trafficserver 'CONFIG proxy.config.http.transaction_no_activity_timeout_out INT 2'
  start_row 'HAProxy, all-retryable-errors' haproxy $'retry-on all-retryable-errors\n  timeout server 2s'
  start_row 'nginx, two servers' nginx "upstream out { server $server; server $server; }
    server { listen \$proxy; proxy_read_timeout 2s; location / { proxy_pass http://out; } }"
  start_row 'HAProxy' haproxy 'timeout server 2s'
  start_row 'Caddy' caddy 'transport http {
      response_header_timeout 2s
    }'
  backend_options='.first_byte_timeout = 2s;' start_row 'Varnish' varnish
  for pid in "${waiting[@]}"; do wait "$pid" || true; done
  sleep 8 # The proxies go on without their clients.
  printf '%-30s %6s %6s\n' '' waits leaves
  for row in "${!labels[@]}"; do
    printf '%-30s %6s %6s\n' "${labels[row]}" "$(count "$((row + 1))-waits")" "$(count "$((row + 1))-leaves")"
  done
}
check
