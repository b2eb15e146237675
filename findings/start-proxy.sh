# Starts a proxy of Debian in front of $server, with its defaults. $proxy is then its address. The second argument are further
# lines of its configuration.
start_proxy() {
  local name=$1 more=${2:-} home
  free_port
  proxy=127.0.0.1:$next_port
  home=$folder/$next_port
  mkdir "$home"
  chmod 755 "$folder" "$home"
  "configure_$name" "$home" "$more"
  "${command[@]}" > "$home/output" 2>&1 < /dev/null &
  pids+=($!)
  wait_for curl -sf "$proxy/?case=start"
}

# `more` replaces the server, and has $proxy for its address.
configure_nginx() {
  local more=${2//'$proxy'/$proxy} default="server { listen $proxy; location / { proxy_pass http://$server; } }"
  cat > "$1/nginx.conf" <<END
pid $1/pid; error_log $1/error.log; daemon off; worker_processes 1; events {}
http {
  access_log off; client_body_temp_path $1/body; proxy_temp_path $1/proxy;
  fastcgi_temp_path $1/fastcgi; uwsgi_temp_path $1/uwsgi; scgi_temp_path $1/scgi;
  ${more:-$default}
}
END
  command=(nginx -e "$1/error.log" -c "$1/nginx.conf")
}

# The lines with which nginx has a cache. The argument has further lines of the location.
nginx_cache() {
  echo "proxy_cache_path $(mktemp -d "$folder/cache-XXXXXX") keys_zone=one:1m;
    server { listen \$proxy; location / { proxy_pass http://$server; proxy_cache one; ${1:-} } }"
}

# The lines with which HAProxy uses the cache that `configure_haproxy` defines.
haproxy_cache=$'http-request cache-use one\n  http-response cache-store one'

configure_haproxy() {
  cat > "$1/haproxy.cfg" <<END
defaults
  mode http
  timeout connect 5s
  timeout client 50s
  timeout server ${server_timeout:-50s}
frontend in
  bind $proxy
  default_backend out
backend out
  ${2:-}
  server one $server
cache one
  total-max-size 4
END
  command=(haproxy -q -db -f "$1/haproxy.cfg")
}

# The lines with which Apache has a cache.
apache_cache() {
  local cache
  cache=$(mktemp -d "$folder/cache-XXXXXX")
  # Started by root, Apache writes to it as another user.
  chmod 777 "$cache"
  cat <<END
LoadModule cache_module /usr/lib/apache2/modules/mod_cache.so
LoadModule cache_disk_module /usr/lib/apache2/modules/mod_cache_disk.so
CacheRoot $cache
CacheEnable disk /
END
}

configure_apache() {
  local modules=/usr/lib/apache2/modules module
  {
    for module in mpm_event authz_core proxy proxy_http; do
      echo "LoadModule ${module}_module $modules/mod_$module.so"
    done
    cat <<END
ServerRoot $1
ServerName localhost
PidFile $1/pid
Mutex file:$1
ErrorLog $1/error.log
Listen $proxy
${2:-}
ProxyPass / http://$server/
END
  } > "$1/apache.conf"
  command=(apache2 -D FOREGROUND -f "$1/apache.conf")
}

configure_varnish() {
  cat > "$1/default.vcl" <<END
vcl 4.1;
backend default { .host = "${server%:*}"; .port = "${server#*:}"; ${backend_options:-} }
${2:-}
END
  command=(varnishd -F -n "$1" -a "$proxy" -f "$1/default.vcl" -s default,16m)
}

configure_squid() {
  # Started by root, Squid becomes the user `proxy`.
  ((UID != 0)) || chown proxy "$1"
  cat > "$1/squid.conf" <<END
http_port $proxy accel defaultsite=localhost
cache_peer ${server%:*} parent ${server#*:} 0 no-query no-digest originserver name=one login=PASSTHRU
http_access allow all
cache_log $1/cache.log
access_log none
pid_filename $1/pid
coredump_dir $1
netdb_filename none
pinger_enable off
shutdown_lifetime 0 seconds
${2:-}
END
  command=(squid -N -n "findings$next_port" -f "$1/squid.conf")
}

# `more` are lines of the reverse proxy.
configure_caddy() {
  printf '{\n  admin off\n  auto_https off\n}\nhttp://%s {\n  reverse_proxy %s {\n    %s\n  }\n}\n' \
    "$proxy" "$server${second_server:+ $second_server}" "${2:-}" > "$1/Caddyfile"
  command=(env "HOME=$1" caddy run --adapter caddyfile --config "$1/Caddyfile")
}

# `more` are lines of records.config.
configure_trafficserver() {
  mkdir "$1/etc" "$1/cache" "$1/log" "$1/run"
  cat > "$1/runroot.yaml" <<END
prefix: $1
exec_prefix: $1
bindir: /usr/bin
sbindir: /usr/sbin
sysconfdir: $1/etc
datadir: $1/cache
includedir: /usr/include
libdir: /usr/lib/trafficserver
libexecdir: /usr/lib/trafficserver/modules
localstatedir: $1/run
runtimedir: $1/run
logdir: $1/log
cachedir: $1/cache
END
  cat > "$1/etc/records.config" <<END
CONFIG proxy.config.http.server_ports STRING ${proxy#*:}:ip-in=127.0.0.1
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 2
${2:-}
END
  echo "map / http://$server/" > "$1/etc/remap.config"
  echo 'cache 64M' > "$1/etc/storage.config"
  printf 'ip_allow:\n  - { apply: in, ip_addrs: 127.0.0.1, action: allow, methods: ALL }\n' > "$1/etc/ip_allow.yaml"
  command=(traffic_server "--run-root=$1/runroot.yaml")
}

configure_lighttpd() {
  cat > "$1/lighttpd.conf" <<END
server.document-root = "$1"
server.bind = "${proxy%:*}"
server.port = ${proxy#*:}
server.modules = ("mod_proxy")
proxy.server = ("" => (("host" => "${server%:*}", "port" => ${server#*:})))
${2:-}
END
  command=(lighttpd -D -f "$1/lighttpd.conf")
}
