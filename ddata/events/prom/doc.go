// Package prom hands the metrics of a node to Prometheus. Give a Meter to ddata.Config.Meter and
// register it:
//
//	meter := prom.New(prom.Config{})
//	prometheus.MustRegister(meter)
//	node, err := ddata.Start(ctx, ddata.Config{Meter: meter, …})
//
// Each node of a process needs a Meter with labels of its own. A node that is started after the end
// of another may take that one's.
package prom
