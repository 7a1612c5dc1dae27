package manifests

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/coterie-go/coterie/ddata/doctor"
)

// policy is a NetworkPolicy.
type policy struct {
	Metadata metadata `yaml:"metadata"`
	Spec     struct {
		PodSelector selector      `yaml:"podSelector"`
		PolicyTypes []string      `yaml:"policyTypes"`
		Ingress     []trafficRule `yaml:"ingress"`
		Egress      []trafficRule `yaml:"egress"`
	} `yaml:"spec"`
}

// trafficRule lets some peers through to some ports. None of either means all.
type trafficRule struct {
	From  []peer       `yaml:"from"`
	To    []peer       `yaml:"to"`
	Ports []policyPort `yaml:"ports"`
}

// peer is one side of a connection.
type peer struct {
	PodSelector       *selector  `yaml:"podSelector"`
	NamespaceSelector *yaml.Node `yaml:"namespaceSelector"`
	IPBlock           *yaml.Node `yaml:"ipBlock"`
}

// policyPort is a port, by its name or number, or some from a number on.
type policyPort struct {
	Protocol string `yaml:"protocol"`
	Port     string `yaml:"port"`
	EndPort  int    `yaml:"endPort"`
}

// verdict is what a policy says of a connection.
type verdict uint8

const (
	denied    verdict = iota
	undecided         // manifests do not say it: namespaces and addresses have a part in it
	allowed
)

// applies reports whether the policy is about one direction, Ingress or Egress.
func (p policy) applies(direction string) bool {
	if len(p.Spec.PolicyTypes) > 0 {
		return slices.Contains(p.Spec.PolicyTypes, direction)
	}
	return direction == "Ingress" || len(p.Spec.Egress) > 0
}

func (p policy) rules(direction string) []trafficRule {
	if direction == "Ingress" {
		return p.Spec.Ingress
	}
	return p.Spec.Egress
}

// admits says whether a rule lets pods with these labels through to a port of the container.
func (r trafficRule) admits(labels map[string]string, c container, port string) verdict {
	if len(r.Ports) > 0 && !slices.ContainsFunc(r.Ports, func(p policyPort) bool { return p.is(c, port) }) {
		return denied
	}
	peers := append(slices.Clone(r.From), r.To...)
	if len(peers) == 0 {
		return allowed
	}
	best := denied
	for _, p := range peers {
		switch {
		case p.IPBlock != nil:
			best = max(best, undecided)
		case p.PodSelector != nil && !p.PodSelector.selects(labels):
		case p.NamespaceSelector != nil:
			best = max(best, undecided)
		default:
			best = allowed
		}
	}
	return best
}

// is reports whether a named port of the container is among those of a policy.
func (p policyPort) is(c container, name string) bool {
	if p.Protocol != "" && p.Protocol != "TCP" {
		return false
	}
	if p.Port == "" || p.Port == name {
		return true
	}
	first, err := strconv.Atoi(p.Port)
	return err == nil && slices.ContainsFunc(c.Ports, func(own containerPort) bool {
		return own.Name == name && own.ContainerPort >= first && own.ContainerPort <= max(first, p.EndPort)
	})
}

// reached looks at the policies of the network: whether the nodes reach each other.
func (x examination) reached() {
	for _, direction := range []string{"Ingress", "Egress"} {
		best, names := denied, ""
		for _, p := range x.all.policies {
			if !p.Metadata.together(x.w.Metadata) || !p.applies(direction) || !p.Spec.PodSelector.selects(x.labels()) {
				continue
			}
			if names != "" {
				names += ", "
			}
			names += p.Metadata.Name
			for _, r := range p.rules(direction) {
				best = max(best, r.admits(x.labels(), x.c, x.o.Port))
				x.portsOf(p, direction, r)
			}
		}
		if names == "" {
			continue
		}
		setting := "NetworkPolicy " + names
		x.f.Add(best == denied, doctor.Error, setting,
			"have a rule of "+direction+" let the pods through to the port "+x.o.Port,
			"no rule of %s lets the pods of %s through to each other's port %s: the nodes do not find each other",
			direction, x.w.Metadata.Name, x.o.Port)
		x.f.Add(best == undecided, doctor.Note, setting, "see that it does",
			"whether a rule of %s lets the pods of %s through to each other's port %s, namespaces or addresses decide "+
				"that manifests do not say", direction, x.w.Metadata.Name, x.o.Port)
	}
}

// portsOf looks at the ports of one rule.
func (x examination) portsOf(p policy, direction string, r trafficRule) {
	if direction != "Ingress" {
		return // the ports are those of others
	}
	setting := "NetworkPolicy " + p.Metadata.Name
	for _, port := range r.Ports {
		_, err := strconv.Atoi(port.Port)
		x.f.Add(err != nil && port.Port != "" && !x.hasPort(port.Port), doctor.Error, setting,
			"name a port of the container",
			"the pods of %s have no port %s: the rule opens nothing", x.w.Metadata.Name, port.Port)
	}
	x.f.Add(len(r.From) == 0 && r.admits(x.labels(), x.c, x.o.Port) == allowed, doctor.Warning, setting,
		"say from which pods, in a rule of its own",
		"it lets everyone through to the port of the nodes, %s", x.o.Port)
}
