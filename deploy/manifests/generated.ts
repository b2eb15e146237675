import type { IConfigMap } from 'kubernetes-models/v1';
export const manifest0: IConfigMap = {
  "apiVersion": "v1",
  "kind": "ConfigMap",
  "metadata": {
    "name": "ledger-gateway"
  },
  "data": {
    "UPSTREAM_BASE_URL": "https://ledger.example.com/api/",
    "JWT_ISSUER": "https://id.example.com/",
    "JWT_AUDIENCE": "ledger",
    "SHUTDOWN_TIMEOUT_MS": "55000"
  }
};

import type { IDeployment } from 'kubernetes-models/apps/v1';
export const manifest1: IDeployment = {
  "apiVersion": "apps/v1",
  "kind": "Deployment",
  "metadata": {
    "name": "ledger-gateway",
    "labels": {
      "app.kubernetes.io/name": "ledger-gateway"
    }
  },
  "spec": {
    "replicas": 2,
    "selector": {
      "matchLabels": {
        "app.kubernetes.io/name": "ledger-gateway"
      }
    },
    "strategy": {
      "rollingUpdate": {
        "maxSurge": 1,
        "maxUnavailable": 0
      }
    },
    "template": {
      "metadata": {
        "labels": {
          "app.kubernetes.io/name": "ledger-gateway"
        },
        "annotations": {
          "prometheus.io/scrape": "true",
          "prometheus.io/port": "4000",
          "prometheus.io/path": "/metrics"
        }
      },
      "spec": {
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 65,
        "securityContext": {
          "runAsNonRoot": true,
          "runAsUser": 1000,
          "runAsGroup": 1000,
          "seccompProfile": {
            "type": "RuntimeDefault"
          }
        },
        "topologySpreadConstraints": [
          {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {
              "matchLabels": {
                "app.kubernetes.io/name": "ledger-gateway"
              }
            }
          }
        ],
        "containers": [
          {
            "name": "gateway",
            "image": "registry.example.com/ledger-gateway:0.1.0",
            "envFrom": [
              {
                "configMapRef": {
                  "name": "ledger-gateway"
                }
              }
            ],
            "env": [
              {
                "name": "IDEMPOTENCY_STORE",
                "valueFrom": {
                  "secretKeyRef": {
                    "name": "ledger-gateway",
                    "key": "IDEMPOTENCY_STORE"
                  }
                }
              }
            ],
            "ports": [
              {
                "name": "http",
                "containerPort": 4000
              }
            ],
            "startupProbe": {
              "httpGet": {
                "path": "/livez",
                "port": "http"
              },
              "periodSeconds": 1,
              "failureThreshold": 60
            },
            "readinessProbe": {
              "httpGet": {
                "path": "/readyz",
                "port": "http"
              },
              "periodSeconds": 2,
              "timeoutSeconds": 5,
              "failureThreshold": 2
            },
            "livenessProbe": {
              "httpGet": {
                "path": "/livez",
                "port": "http"
              },
              "periodSeconds": 10,
              "timeoutSeconds": 5
            },
            "resources": {
              "requests": {
                "cpu": "500m",
                "memory": "384Mi"
              },
              "limits": {
                "memory": "1Gi"
              }
            },
            "securityContext": {
              "allowPrivilegeEscalation": false,
              "readOnlyRootFilesystem": true,
              "capabilities": {
                "drop": [
                  "ALL"
                ]
              }
            }
          }
        ]
      }
    }
  }
};

import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
export const manifest2: IHorizontalPodAutoscaler = {
  "apiVersion": "autoscaling/v2",
  "kind": "HorizontalPodAutoscaler",
  "metadata": {
    "name": "ledger-gateway"
  },
  "spec": {
    "scaleTargetRef": {
      "apiVersion": "apps/v1",
      "kind": "Deployment",
      "name": "ledger-gateway"
    },
    "minReplicas": 2,
    "maxReplicas": 6,
    "metrics": [
      {
        "type": "Resource",
        "resource": {
          "name": "cpu",
          "target": {
            "type": "AverageValue",
            "averageValue": "600m"
          }
        }
      }
    ]
  }
};

import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1';
export const manifest3: IPodDisruptionBudget = {
  "apiVersion": "policy/v1",
  "kind": "PodDisruptionBudget",
  "metadata": {
    "name": "ledger-gateway"
  },
  "spec": {
    "maxUnavailable": 1,
    "unhealthyPodEvictionPolicy": "AlwaysAllow",
    "selector": {
      "matchLabels": {
        "app.kubernetes.io/name": "ledger-gateway"
      }
    }
  }
};

import type { IService } from 'kubernetes-models/v1';
export const manifest4: IService = {
  "apiVersion": "v1",
  "kind": "Service",
  "metadata": {
    "name": "ledger-gateway",
    "labels": {
      "app.kubernetes.io/name": "ledger-gateway"
    }
  },
  "spec": {
    "selector": {
      "app.kubernetes.io/name": "ledger-gateway"
    },
    "ports": [
      {
        "name": "http",
        "port": 80,
        "targetPort": "http"
      }
    ]
  }
};
