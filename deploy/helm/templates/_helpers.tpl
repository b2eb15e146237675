{{/* The name of all resources: that of the release, with "ledger-gateway" added unless it is part of it. */}}
{{- define "ledger-gateway.fullname" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{- .Values.fullnameOverride | default $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* What identifies the pods of this release. It never changes, because a Deployment cannot change its selector. */}}
{{- define "ledger-gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of pods. They have no version of the chart, which would start new pods without need. */}}
{{- define "ledger-gateway.podLabels" -}}
{{ include "ledger-gateway.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/part-of: {{ .Values.partOf | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "ledger-gateway.labels" -}}
{{ include "ledger-gateway.podLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | quote }}
{{- end -}}

{{/* The metadata of a resource, called with a list: the root, and annotations. */}}
{{- define "ledger-gateway.metadata" -}}
{{- $root := index . 0 -}}
name: {{ include "ledger-gateway.fullname" $root }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "ledger-gateway.labels" $root | nindent 2 }}
{{- with index . 1 }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "ledger-gateway.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "ledger-gateway.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* The volume of a variable that names a file. */}}
{{- define "ledger-gateway.fileVolume" -}}
{{- . | lower | replace "_" "-" -}}
{{- end -}}

{{/* A setting as the text of a variable. Numbers of values are floating-point numbers, which JSON writes in full. */}}
{{- define "ledger-gateway.setting" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ . | toJson }}{{ end -}}
{{- end -}}

{{/* What the container of the gateway has in common with the one that checks its connections. */}}
{{- define "ledger-gateway.container" -}}
{{- $hasPolicy := or .Values.policy.text .Values.policy.configMap -}}
{{- $isAuditFile := eq .Values.audit.output "volume" -}}
image: {{ .Values.image.repository }}
  {{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
env:
  # /metrics on a port that the Service does not have.
  - { name: ADMIN_PORT, value: "4001" }
  {{- range $name, $value := .Values.settings }}
  - { name: {{ $name }}, value: {{ include "ledger-gateway.setting" $value | quote }} }
  {{- end }}
  {{- range $name, $file := .Values.files }}
  - { name: {{ $name }}, value: {{ printf "/files/%s/%s" (include "ledger-gateway.fileVolume" $name) $file.key | quote }} }
  {{- end }}
  {{- if $hasPolicy }}
  - { name: POLICY_FILE, value: /policy/policy.json }
  {{- end }}
  {{- if $isAuditFile }}
  - name: POD_NAME
    valueFrom:
      fieldRef: { fieldPath: metadata.name }
  - { name: AUDIT, value: "file:/audit/$(POD_NAME).log" }
  {{- else }}
  - { name: AUDIT, value: {{ .Values.audit.output | quote }} }
  {{- end }}
  - { name: AUDIT_SUBJECT, value: {{ .Values.audit.subject | quote }} }
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- if or .Values.files $hasPolicy $isAuditFile .Values.extraVolumeMounts }}
# Folders: a single file (`subPath`) would keep its first content.
volumeMounts:
  {{- range $name, $_ := .Values.files }}
  {{- $volume := include "ledger-gateway.fileVolume" $name }}
  - { name: {{ $volume }}, mountPath: /files/{{ $volume }}, readOnly: true }
  {{- end }}
  {{- if $hasPolicy }}
  - { name: policy, mountPath: /policy, readOnly: true }
  {{- end }}
  {{- if $isAuditFile }}
  - { name: audit, mountPath: /audit }
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Four times the delay, which requests extend, and what is in progress (docs/reference/health-and-shutdown.md), and two seconds more. */}}
{{- define "ledger-gateway.gracePeriodSeconds" -}}
{{- $delay := .Values.settings.SHUTDOWN_DELAY_MS | default 2000 | int64 -}}
{{- $timeout := .Values.settings.SHUTDOWN_TIMEOUT_MS | default 15000 | int64 -}}
{{- add 2 (div (add (mul 4 $delay) $timeout 999) 1000) -}}
{{- end -}}

{{/*
What to write instead of the value of a setting, if it is certain that the gateway would reject it. Called with a list: the root, the name
and the text. The bounds and the names in settings.json are those of the gateway.
*/}}
{{- define "ledger-gateway.remedy" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $text := index . 2 -}}
{{- $row := get ($root.Files.Get "settings.json" | fromJson) $name | default dict -}}
{{- $isNumber := include "ledger-gateway.isNumber" (list $row $text) -}}
{{- $others := list -}}
{{- $isDiscovered := and (eq $name "JWT_ISSUER") (not (or $root.Values.settings.JWT_JWKS_URL $root.Values.files.JWT_JWKS_FILE)) -}}
{{- if regexMatch `(?s)^(".*"|'.*')$` $text -}}
remove the quotes that are part of the value
{{- else if and $row.what (eq $isNumber "") -}}
write {{ $row.what }} from {{ $row.min | int64 }} to {{ $row.max | int64 }}{{ if hasPrefix "whole" $row.what }}, without a unit{{ end }}
{{- else if $row.names -}}
{{- range splitList "," $text -}}
{{- if and (trim .) (not (has (trim .) $row.names)) -}}
{{- $others = append $others (trim .) -}}
{{- end -}}
{{- end -}}
{{- if or $others (eq (trim (replace "," "" $text)) "") -}}
write a list of {{ join ", " $row.names }}
{{- end -}}
{{- else if eq $name "CORS_ORIGINS" -}}
{{- range splitList "," $text -}}
{{- if and (trim .) (not (regexMatch "^https?://[^/?#@\\s]+$" (trim .))) -}}
{{- $host := regexReplaceAll "^([a-z]+://|https?:)?/*" (regexReplaceAll "^\\*$" (trim .) "app.example.com") "" -}}
{{- $others = append $others (printf "https://%s" (regexReplaceAll "[/?#\\s].*$" $host "")) -}}
{{- end -}}
{{- end -}}
{{- if $others -}}
write origins without a path, such as {{ join " and " $others }}
{{- end -}}
{{- else if or $isDiscovered (regexMatch "_(URL|ENDPOINT)$" $name) -}}
{{- range ternary (splitList "," $text) (list $text) $isDiscovered -}}
{{- if not (regexMatch "(?i)^https?:/*[^/?#\\s]" (trim .)) -}}
{{- $others = append $others (printf "https://%s" (regexReplaceAll "^([a-z]+://|https?:)?/*" (trim .) "")) -}}
{{- end -}}
{{- end -}}
{{- if $others -}}
write an http(s) URL, such as {{ join " and " $others }}
{{- else if regexMatch "(?i)^https?:/*[^/?#]*@" $text -}}
write a URL without credentials
{{- else if regexMatch "(?i)^https?:/*[^/?#]*\\s" (trim $text) -}}
write a URL whose host has no blank
{{- else if and (eq $name "UPSTREAM_BASE_URL") (regexMatch "[?#]" $text) -}}
write a URL without a query and a fragment
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Not empty if a text is a number within the bounds of its row in settings.json, called with a list: the row and the text. */}}
{{- define "ledger-gateway.isNumber" -}}
{{- $row := index . 0 -}}
{{- $text := index . 1 -}}
{{- if eq (get $row "what") "a number" -}}
{{- if regexMatch `^(0(\.[0-9]+)?|1(\.0+)?)$` $text -}}
true
{{- end -}}
{{- else if regexMatch "^0*[0-9]{1,15}$" $text -}}
{{- $number := regexReplaceAll "^0+([0-9])" $text "${1}" | int64 -}}
{{- if and (ge $number (int64 $row.min)) (le $number (int64 $row.max)) -}}
true
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails if values are missing, invalid, or contradict each other, with all of these faults. */}}
{{- define "ledger-gateway.validate" -}}
{{- $faults := list -}}
{{- $required := dict "UPSTREAM_BASE_URL" "https://ledger.example.com/api/" -}}
{{- if not (hasKey .Values.files "JWT_ISSUERS_FILE") -}}
{{- $required = merge $required (dict "JWT_ISSUER" "https://id.example.com/" "JWT_AUDIENCE" "ledger") -}}
{{- end -}}
{{- if not .Values.image.repository -}}
{{- $faults = append $faults "image.repository is required, such as registry.example.com/ledger-gateway" -}}
{{- end -}}
{{- range $name, $example := $required -}}
{{- if not (get $.Values.settings $name) -}}
{{- $faults = append $faults (printf "settings.%s is required, such as %s: see docs/reference/configuration.md" $name $example) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := .Values.settings -}}
{{- $text := include "ledger-gateway.setting" $value -}}
{{- $remedy := include "ledger-gateway.remedy" (list $ $name $text) -}}
{{- if and $text $remedy -}}
{{- $faults = append $faults (printf "settings.%s is %s: %s" $name $text $remedy) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- $faults = append $faults "autoscaling.minReplicas is above autoscaling.maxReplicas" -}}
{{- end -}}
{{- if not (or .Values.files.IDEMPOTENCY_STORE_FILE .Values.settings.IDEMPOTENCY_STORE) -}}
{{- $faults = append $faults "files.IDEMPOTENCY_STORE_FILE is required: pods without a store that they share execute a repeated write again" -}}
{{- end -}}
{{- if and .Values.files.IDEMPOTENCY_STORE_FILE .Values.settings.IDEMPOTENCY_STORE -}}
{{- $faults = append $faults "set files.IDEMPOTENCY_STORE_FILE or settings.IDEMPOTENCY_STORE, not both: null removes the file" -}}
{{- end -}}
{{- if and .Values.settings.IDEMPOTENCY_STORE (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) -}}
{{- $faults = append $faults "settings.IDEMPOTENCY_STORE is of one pod: set replicas to 1 and autoscaling.enabled to false" -}}
{{- end -}}
{{- if and .Values.policy.text .Values.policy.configMap -}}
{{- $faults = append $faults "set policy.text or policy.configMap, not both" -}}
{{- end -}}
{{- if and (eq .Values.audit.output "volume") (not .Values.audit.volume) -}}
{{- $faults = append $faults "audit.output is volume, but audit.volume is empty" -}}
{{- end -}}
{{- if not (dig "limits" "memory" "" .Values.resources) -}}
{{- $faults = append $faults "resources.limits.memory is required: the gateway measures by it how much it may hold" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- $faults = append $faults "ingress.host is required, such as ledger.example.com" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- $faults = append $faults "httpRoute.parentRefs is required: name your Gateway" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.httpFrom) -}}
{{- $faults = append $faults "networkPolicy.httpFrom is required: name the pods of your proxy, or set networkPolicy.enabled to false" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled .Values.podMonitor.enabled (not .Values.networkPolicy.metricsFrom) -}}
{{- $faults = append $faults "networkPolicy.metricsFrom is required with podMonitor: name the pods of Prometheus" -}}
{{- end -}}
{{- if $faults -}}
{{- fail (printf "the values are invalid:\n- %s" (join "\n- " $faults)) -}}
{{- end -}}
{{- end -}}
