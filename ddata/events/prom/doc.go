// Package prom hands the metrics of a node to Prometheus. Give a Meter to ddata.Config.Meter and
// register it:
//
//	meter := prom.New(prom.Config{})
//	prometheus.MustRegister(meter)
//	node, err := ddata.Start(ctx, ddata.Config{Meter: meter, …})
//
// Beside it lie rules.yaml, rules of alerts for rule_files of Prometheus, each with the page of package runbook that
// says what to do, and dashboard.json, a dashboard that Grafana imports (Dashboards, New, Import) for a source of
// the type Prometheus. They tell clusters by the label job: give each cluster a job of its own.
//
// Each node of a process needs a Meter with labels of its own. A node that is started after the end
// of another may take that one's.
package prom
