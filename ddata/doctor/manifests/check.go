package manifests

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/doctor"
)

// Options say what manifests do not.
type Options struct {
	// Port is the name of the port of the nodes. Default: coterie.
	Port string
	// Leave is how long a node may take to leave (ddata.Config.LeaveOnSIGTERM). 0 is not known, and not judged.
	Leave time.Duration
	// Drain is how long the preStop hook takes, where it is a call or a command. 0 is not known.
	Drain time.Duration
	// Founders is ddata.Config.BootstrapExpect. 0 is not known.
	Founders int
	// Pods says that nodes are found by the API (locks/kubernetes/pods), Leases that leases are objects of the
	// namespace (locks/kubernetes). The account of the pods needs rights for that.
	Pods, Leases bool
	// Variables of the container may say some of it.
	Variables Variables
}

// Check says what will go wrong with the nodes that manifests describe, the worst first. Files are texts of
// YAML by their names.
func Check(files map[string][]byte, o Options) []doctor.Finding {
	o.Port = cmp.Or(o.Port, "coterie")
	var f doctor.Findings
	var all objects
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := all.parse(files[name])
		f.Add(err != nil, doctor.Error, name, "correct it", "it is no YAML of Kubernetes: %v", err)
	}
	all.bound(&f)
	found := false
	for _, w := range all.workloads {
		if c, has := w.nodes(o.Port); has {
			found = true
			examination{&f, o, all, w, c}.run()
		}
	}
	f.Add(!found, doctor.Warning, "manifests",
		"name the port of the nodes in the ports of their container, or name it here",
		"no StatefulSet and no Deployment has a container with a port called %s", o.Port)
	f.Sort()
	return f
}

// nodes returns the container in which a node runs.
func (w workload) nodes(port string) (container, bool) {
	for _, c := range w.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port {
				return c, true
			}
		}
	}
	return container{}, false
}

// examination is of one workload.
type examination struct {
	f   *doctor.Findings
	o   Options
	all objects
	w   workload
	c   container
}

// add adds a finding about a field of the workload.
func (x examination) add(bad bool, s doctor.Severity, field, remedy, problem string, args ...any) {
	x.f.Add(bad, s, fmt.Sprintf("%s %s: %s", x.w.Kind, x.w.Metadata.Name, field), remedy, problem, args...)
}

func (x examination) labels() map[string]string { return x.w.Spec.Template.Metadata.Labels }

func (x examination) replicas() int {
	if n := x.w.Spec.Replicas; n != nil {
		return *n
	}
	return 1
}

// run looks at everything.
func (x examination) run() {
	x.o = x.configured()
	x.add(!x.w.Spec.Selector.selects(x.labels()), doctor.Error, "spec.selector", "make them the same",
		"it does not select the pods of the template: the API server refuses it")
	x.alone()
	x.replicated()
	x.rollOut()
	x.probed()
	x.ended()
	x.limited()
	x.stored()
	x.entitled()
	x.served()
	x.reached()
	x.budgeted()
}

// alone looks for another workload that takes the pods of this one for its own.
func (x examination) alone() {
	for _, w := range x.all.workloads {
		same := w.Kind == x.w.Kind && w.Metadata.Name == x.w.Metadata.Name
		x.add(!same && w.Metadata.together(x.w.Metadata) && w.Spec.Selector.selects(x.labels()), doctor.Error,
			"spec.template.metadata.labels", "apply one of them, or give them labels of their own",
			"%s %s selects its pods, too: services and budgets take both for one, and more pods found the cluster "+
				"than either says", w.Kind, w.Metadata.Name)
	}
}

// replicated looks at the number of pods.
func (x examination) replicated() {
	n := x.replicas()
	x.add(n <= 0, doctor.Warning, "spec.replicas", "run 3", "%d: no pod runs", n)
	x.add(n == 2, doctor.Warning, "spec.replicas", "run 3, or have leases decide (downing.LeaseMajority)",
		"2 pods: with downing.KeepMajority the crash of one stops the other one, too")
	x.add(n > 2 && n%2 == 0, doctor.Note, "spec.replicas", fmt.Sprintf("run %d or %d", n-1, n+1),
		"%d pods bear the loss of %d at once, no more than %d do", n, (n-1)/2, n-1)
	pod := x.w.Spec.Template.Spec
	spread := len(pod.TopologySpreadConstraints) > 0 || !pod.Affinity.PodAntiAffinity.IsZero()
	x.add(!spread && n > 1, doctor.Warning, "spec.template.spec.topologySpreadConstraints",
		"spread the pods over machines and zones", "none: all pods may run on one machine, and end with it")
}

// rollOut looks at how pods are replaced.
func (x examination) rollOut() {
	s, n, founders := x.w.Spec, x.replicas(), x.o.Founders
	if x.w.Kind == "StatefulSet" {
		x.add(s.UpdateStrategy.Type == "OnDelete", doctor.Note, "spec.updateStrategy", "use RollingUpdate",
			"OnDelete: a pod has the old version until it is deleted by hand")
		x.add(s.PodManagementPolicy != "Parallel" && n > 1 && founders != 1, doctor.Error, "spec.podManagementPolicy",
			"set it to Parallel",
			"it is OrderedReady: the first pod is ready when the cluster was founded, and the others "+
				"that found it are started when it is ready, so never")
		x.add(founders > 0 && 2*founders <= n, doctor.Error, "spec.replicas", "raise Config.BootstrapExpect",
			"%d founders are not more than half of %d pods: two clusters can be founded", founders, n)
		return
	}
	const setting = "spec.strategy"
	x.add(s.Strategy.Type == "Recreate", doctor.Error, setting, "use RollingUpdate with maxUnavailable: 0",
		"Recreate stops all pods at once: replicated data without a disk is gone with each new version")
	down, err := part(s.Strategy.RollingUpdate.MaxUnavailable, n, "25%", false)
	surge, wrong := part(s.Strategy.RollingUpdate.MaxSurge, n, "25%", true)
	x.add(err != nil || wrong != nil, doctor.Error, setting, "give numbers", "%v %v", err, wrong)
	x.add(n > 1 && 2*down >= n, doctor.Error, setting, "set maxUnavailable to 0 and maxSurge to 1",
		"%d of %d pods may be stopped at once: data that they hold is gone, and the others may stop", down, n)
	x.add(founders > 0 && 2*founders <= n+surge, doctor.Error, "spec.replicas", "raise Config.BootstrapExpect",
		"%d founders are not more than half of the %d pods of a roll-out: two clusters can be founded", founders,
		n+surge)
}

// livenessMin is how many seconds a liveness probe should fail before the container is started again.
const livenessMin = 15

// probed looks at the probes.
func (x examination) probed() {
	const live, ready = "livenessProbe", "readinessProbe"
	l, r := x.c.LivenessProbe, x.c.ReadinessProbe
	x.add(r == nil, doctor.Error, ready, "probe /readyz (events.HealthHandler)",
		"none: a pod gets requests, and the next one is replaced, before the node is in the cluster")
	x.add(l == nil, doctor.Note, live, "probe /livez (events.HealthHandler)",
		"none: a node that has ended or stands still is not started again if its process does not end")
	if l != nil && r != nil {
		x.add(l.HTTPGet.Path == r.HTTPGet.Path && l.HTTPGet.Path != "", doctor.Error, live, "probe /livez",
			"it asks the same as %s, %s: nodes that wait for others are started again, all of them, again and again",
			ready,
			l.HTTPGet.Path)
	}
	if l != nil {
		x.add(l.failsAfter() < livenessMin, doctor.Warning, live, "raise failureThreshold or periodSeconds",
			"it gives up after %d s: a pause of the machine starts pods again", l.failsAfter())
	}
	const readinessMax = 30
	if r != nil {
		x.add(r.failsAfter() > readinessMax, doctor.Warning, ready, "lower failureThreshold or periodSeconds",
			"it notices after %d s that a pod does not answer: requests fail until then", r.failsAfter())
	}
	for _, p := range []struct {
		name string
		*probe
	}{{live, l}, {ready, r}} {
		if p.probe != nil && p.HTTPGet.Port != "" {
			x.add(!x.hasPort(p.HTTPGet.Port), doctor.Error, p.name, "name a port of the container",
				"the container has no port %s", p.HTTPGet.Port)
		}
	}
}

// hasPort reports whether the container has a port of this name or number.
func (x examination) hasPort(port string) bool {
	for _, p := range x.c.Ports {
		if p.Name == port || fmt.Sprint(p.ContainerPort) == port {
			return true
		}
	}
	return false
}

// endMargin is what a process needs beside the time to leave.
const endMargin = 3 * time.Second

// ended looks at how a pod ends.
func (x examination) ended() {
	const graceDefault = 30
	grace := graceDefault * time.Second
	if g := x.w.Spec.Template.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = time.Duration(*g) * time.Second
	}
	drain, hook := x.o.Drain, x.c.Lifecycle.PreStop
	x.add(hook == nil, doctor.Warning, "lifecycle.preStop",
		"sleep some seconds there, such as preStop: {sleep: {seconds: 5}}",
		"none: the process gets SIGTERM before those that balance requests know of it, and their requests fail")
	if hook != nil {
		drain = max(drain, time.Duration(hook.Sleep.Seconds)*time.Second)
		port := hook.HTTPGet.Port
		x.add(port != "" && !x.hasPort(port), doctor.Error, "lifecycle.preStop", "name a port of the container",
			"the container has no port %s: the hook fails, and the process gets SIGTERM at once", port)
	}
	const field = "spec.template.spec.terminationGracePeriodSeconds"
	need := drain + x.o.Leave + endMargin
	x.add(x.o.Leave > 0 && grace < need, doctor.Error, field, fmt.Sprintf("raise it to %d", int(need.Seconds())),
		"%v, and the pod needs %v for its preStop hook, %v to leave and some seconds to end: it is killed while "+
			"it hands over",
		grace, drain, x.o.Leave)
	x.add(drain >= grace, doctor.Error, field, "raise it", "%v, and the preStop hook alone takes %v", grace, drain)
}

// limited looks at the limits of the container.
func (x examination) limited() {
	limits := x.c.Resources.Limits
	const memory, cpu = "resources.limits.memory", "resources.limits.cpu"
	if text, has := limits["cpu"]; has {
		n, err := quantity(text)
		x.add(err != nil, doctor.Error, cpu, "correct it", "%v", err)
		x.add(err == nil && n < 1, doctor.Warning, cpu, "take it away, or raise it to 1 or more",
			"%s: a process that has used its share stands still, and may lose its lease", text)
	}
	text, has := limits["memory"]
	x.add(!has, doctor.Note, memory, "set it, with GOMEMLIMIT below it", "none: the machine may kill any pod instead")
	limit, err := quantity(text)
	x.add(has && err != nil, doctor.Error, memory, "correct it", "%v", err)
	soft, _ := x.c.variable("GOMEMLIMIT")
	if !has || err != nil {
		return
	}
	x.add(soft == "", doctor.Warning, "env GOMEMLIMIT", "set it to about four fifths of the limit",
		"none: Go does not know the limit of %s, and the pod may be killed although there is garbage", text)
	if soft != "" {
		n, err := quantity(soft)
		const most = 0.9
		x.add(err == nil && n > most*limit, doctor.Warning, "env GOMEMLIMIT",
			"set it to about four fifths of the limit",
			"%s of a limit of %s: pages of the store have no room beside it", soft, text)
	}
}

// served looks at the services that name the pods.
func (x examination) served() {
	named := false
	for _, s := range x.all.services {
		if len(s.Spec.Selector) == 0 || !contains(x.labels(), s.Spec.Selector) ||
			!s.Metadata.together(x.w.Metadata) {
			continue
		}
		setting, records := "Service "+s.Metadata.Name, false
		for _, p := range s.Spec.Ports {
			nodes := p.Name == x.o.Port || p.TargetPort == x.o.Port
			x.f.Add(p.TargetPort != "" && !x.hasPort(p.TargetPort), doctor.Error, setting+": targetPort",
				"name a port of the container", "the pods of %s have no port %s", x.w.Metadata.Name, p.TargetPort)
			records = records || p.Name == x.o.Port
			if !nodes {
				continue
			}
			x.f.Add(!s.headless(), doctor.Error, setting+": clusterIP", "set it to None",
				"the service has one address for all nodes: nodes must reach each other one by one")
			x.f.Add(s.headless() && !s.Spec.PublishNotReadyAddresses, doctor.Error,
				setting+": publishNotReadyAddresses",
				"set it to true",
				"pods that are not ready are not named, and none is ready before the nodes have found each "+
					"other: no cluster is founded")
		}
		governs := s.Metadata.Name == x.w.Spec.ServiceName && s.headless()
		x.f.Add(governs && !records, doctor.Warning, setting+": ports", "name a port of it "+x.o.Port,
			"it has no port %s, so there are no SRV records of that name: discovery.DNS with Service %s finds no node",
			x.o.Port, x.o.Port)
		named = named || governs
	}
	x.add(!named && x.w.Kind == "StatefulSet", doctor.Error, "spec.serviceName",
		"make a headless Service of that name which selects the pods",
		"no headless Service %q names the pods: they have no "+
			"names in DNS", x.w.Spec.ServiceName)
}

// budgeted looks at the budget of planned disruptions.
func (x examination) budgeted() {
	n, found := x.replicas(), false
	for _, b := range x.all.budgets {
		if b.Spec.Selector == nil || !b.Spec.Selector.selects(x.labels()) || !b.Metadata.together(x.w.Metadata) {
			continue
		}
		found = true
		setting := "PodDisruptionBudget " + b.Metadata.Name
		down, err := b.allows(n)
		x.f.Add(err != nil, doctor.Error, setting, "correct it", "%v", err)
		x.f.Add(err == nil && down <= 0, doctor.Error, setting, "set maxUnavailable to 1",
			"it lets no pod of %d go: a machine can never be drained", n)
		x.f.Add(err == nil && n > 1 && 2*down >= n, doctor.Error, setting, "set maxUnavailable to 1",
			"it lets %d of %d pods go at once: the others may not go on", down, n)
		x.f.Add(err == nil && down > 1 && 2*down < n, doctor.Note, setting, "set maxUnavailable to 1",
			"it lets %d pods go at once: an unplanned loss beside them may stop the others", down)
	}
	x.add(!found && n > 1, doctor.Warning, "PodDisruptionBudget", "make one with maxUnavailable: 1",
		"none selects the pods: a drain of machines may stop all of them at once")
}

// allows returns how many of some pods may be stopped at once.
func (b budget) allows(of int) (int, error) {
	switch {
	case b.Spec.MaxUnavailable != nil:
		return part(*b.Spec.MaxUnavailable, of, "", true)
	case b.Spec.MinAvailable != nil:
		least, err := part(*b.Spec.MinAvailable, of, "", true)
		return of - least, err
	}
	return 0, fmt.Errorf("it has neither minAvailable nor maxUnavailable")
}
