#!/usr/bin/env bash
# Traffic Server adds `Age` to responses that come from the server, not from its cache, also with its cache switched off. It counts from the
# server's `Date`, and adds the time that the response has taken. So if the clock of the server is ten seconds behind, each response
# says `Age: 10`, and one that took 2.5 seconds says about 4. In HTTP, an `Age` implies that the server was not asked for this request (RFC
# 9111, section 5.1), so a client that looks for it takes the response for one from a cache. `insert_age_in_response` switches it off.
#
# How to read the table: the `Age` of a response that comes from the server, not from a cache. "none": the proxy adds none. "about 4" is 3
# to 6, depending on when a second begins. "right": the clock of the server is right. "behind": it is ten seconds behind. "slow": it is
# right, and the response takes 2.5 seconds.
#
# Seen on 2026-11-29 with Node 24.21.0 and Debian 12: trafficserver 9.2.5+ds-0+deb12u4 (9.2.9), nginx-light 1.22.1-9+deb12u11, haproxy
# 2.6.12-1+deb12u4, apache2 2.4.71-1~deb12u1, varnish 7.1.1-2+deb12u1, squid 5.7-2+deb12u6, caddy 2.6.2-5, lighttpd 1.4.69-1.
#
#|                                           right     behind    slow
#| Traffic Server                            0 or 1    about 10  about 4
#| Traffic Server, cache off                 0 or 1    about 10  about 4
#| cache off, insert_age_in_response INT 0   none      none      none
#| Varnish                                   0 or 1    0 or 1    0 or 1
#| Squid                                     none      none      none
#| nginx                                     none      none      none
#| HAProxy                                   none      none      none
#| Apache                                    none      none      none
#| Caddy                                     none      none      none
#| lighttpd                                  none      none      none
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/start-proxy.sh"

need curl:curl nginx:nginx-light haproxy:haproxy apache2:apache2 varnishd:varnish squid:squid traffic_server:trafficserver caddy:caddy \
  lighttpd:lighttpd
print_versions trafficserver nginx-light haproxy apache2 varnish squid caddy lighttpd

cat > "$folder/server.js" <<'END'
import http from 'node:http';
const server = http.createServer(({ url }, response) => {
  const query = new URL(url, 'http://localhost').searchParams;
  response.setHeader('date', new Date(Date.now() - Number(query.get('behind')) * 1000).toUTCString());
  setTimeout(() => response.end('ok'), Number(query.get('wait')));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
END
start_program server.js

# `try QUERY`
try() {
  local age
  age=$(curl -s -D - -o /dev/null "http://$proxy/?$1" | tr -d '\r' | sed -n 's/^age: //Ip')
  case $age in
    '') age=none ;;
    [01]) age='0 or 1' ;;
    [3-6]) age='about 4' ;;
    10 | 11 | 12) age='about 10' ;;
  esac
  printf ' %-9s' "$age"
}

row() {
  start_proxy "${@:2}"
  echo "$(printf '%-41s' "$1")$(try 'behind=0')$(try 'behind=10')$(try 'wait=2500')" | sed 's/ *$//'
}

measure() {
  local off='CONFIG proxy.config.http.cache.http INT 0'
  printf '%-41s %-9s %-9s %s\n' '' right behind slow
  row 'Traffic Server' trafficserver
  row 'Traffic Server, cache off' trafficserver "$off"
  row 'cache off, insert_age_in_response INT 0' trafficserver "$off"$'\nCONFIG proxy.config.http.insert_age_in_response INT 0'
  row Varnish varnish
  row Squid squid
  row nginx nginx
  row HAProxy haproxy
  row Apache apache
  row Caddy caddy
  row lighttpd lighttpd
}
check
