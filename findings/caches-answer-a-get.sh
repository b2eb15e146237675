#!/usr/bin/env bash
# nginx with a cache answers the second of two equal GETs itself, also where they have an `Authorization` header and ask for
# `Cache-Control: no-store`, and its response has no mark of that: no `Age`, and a `Date` of its own. Traffic Server and Squid
# answer from their caches where the server's response says `Cache-Control: public`, as HTTP allows, and add `Age`; Traffic Server
# does so for a request with `no-store`, too. Varnish, Apache and HAProxy pass on each GET with `Authorization`. All of them answer
# the second of two GETs without `Authorization` ("no token").
#
# How to read the table: how often two equal GETs with `Authorization` arrive at the server. "plain": its response has no
# `Cache-Control`. "public": it has `public, max-age=60`. "no-store": the same, and the requests have `Cache-Control: no-store`.
# "unique": the same as "public", and each request has another query. "no token": the same as "public" without `Authorization`.
# "marks": headers of the second response of "no token" that show a cache.
#
# Seen on 2026-11-28 with Debian 12: nginx-light 1.22.1-9+deb12u11, haproxy 2.6.12-1+deb12u4, apache2 2.4.71-1~deb12u1,
# varnish 7.1.1-2+deb12u1, squid 5.7-2+deb12u6, trafficserver 9.2.5+ds-0+deb12u4 (9.2.9).
#
#|                                     plain   public no-store   unique no token marks
#| nginx, proxy_cache_valid 200 1m         1        1        1        2        1
#| Traffic Server                          2        1        1        2        1 age
#| Varnish                                 2        2        2        2        1 age
#| Squid                                   2        1        2        2        1 age x-cache: hit
#| Apache, mod_cache_disk                  2        2        2        2        1 age
#| HAProxy, cache                          2        2        2        2        1 age
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/start-proxy.sh"

need nginx:nginx-light haproxy:haproxy apache2:apache2 varnishd:varnish squid:squid traffic_server:trafficserver
print_versions nginx-light haproxy apache2 varnish squid trafficserver
start_server

token=(-H 'Authorization: Bearer a.b.c')

# `try COLUMN REPLY [OPTIONS OF CURL]`: two requests.
try() {
  local case=$next_port-$1 reply=$2
  shift 2
  for number in 1 2; do
    curl -s -D "$folder/head" -o /dev/null "$@" "http://$proxy/?reply=$reply&case=$case${unique:+&id=$number}"
  done
  printf ' %8s' "$(count "$case")"
}

row() {
  start_proxy "${@:2}"
  printf '%-32s' "$1"
  try plain ok "${token[@]}"
  try public cacheable "${token[@]}"
  try no-store cacheable "${token[@]}" -H 'Cache-Control: no-store'
  unique=yes try unique cacheable "${token[@]}"
  try without cacheable
  echo " $(grep -ioE '^(age|x-cache: hit|x-cache-status)' "$folder/head" | tr 'A-Z\n' 'a-z ')" | sed 's/ *$//'
}

measure() {
  printf '%-32s %8s %8s %8s %8s %8s %s\n' '' plain public no-store unique 'no token' marks
  row 'nginx, proxy_cache_valid 200 1m' nginx "$(nginx_cache 'proxy_cache_valid 200 1m;')"
  row 'Traffic Server' trafficserver
  row 'Varnish' varnish
  row 'Squid' squid
  row 'Apache, mod_cache_disk' apache "$(apache_cache)"
  row 'HAProxy, cache' haproxy "$haproxy_cache"
}
check
