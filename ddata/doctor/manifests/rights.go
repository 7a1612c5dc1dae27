package manifests

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/doctor"
)

// account is a ServiceAccount.
type account struct {
	Metadata                     metadata `yaml:"metadata"`
	AutomountServiceAccountToken *bool    `yaml:"automountServiceAccountToken"`
}

// role is a Role or a ClusterRole.
type role struct {
	Kind     string   `yaml:"kind"`
	Metadata metadata `yaml:"metadata"`
	Rules    []struct {
		APIGroups     []string `yaml:"apiGroups"`
		Resources     []string `yaml:"resources"`
		ResourceNames []string `yaml:"resourceNames"`
		Verbs         []string `yaml:"verbs"`
	} `yaml:"rules"`
}

// binding is a RoleBinding or a ClusterRoleBinding.
type binding struct {
	Kind     string   `yaml:"kind"`
	Metadata metadata `yaml:"metadata"`
	RoleRef  roleRef  `yaml:"roleRef"`
	Subjects []struct {
		Kind      string `yaml:"kind"`
		Name      string `yaml:"name"`
		Namespace string `yaml:"namespace"`
	} `yaml:"subjects"`
}

// roleRef names a role.
type roleRef struct {
	Kind string `yaml:"kind"`
	Name string `yaml:"name"`
}

// accounts are those that the binding gives rights to.
func (b binding) accounts() (all []metadata) {
	for _, s := range b.Subjects {
		if s.Kind == "ServiceAccount" {
			all = append(all, metadata{Name: s.Name, Namespace: cmp.Or(s.Namespace, b.Metadata.Namespace)})
		}
	}
	return all
}

// right is what a program asks of the API server.
type right struct {
	group, resource string
	verbs           []string
}

// rights are those that the packages of the module need.
func (o Options) rights() (all []right) {
	if o.Pods {
		all = append(all, right{"", "pods", []string{"list"}})
	}
	if o.Leases {
		verbs := []string{"get", "create", "update"}
		all = append(all, right{"coordination.k8s.io", "leases", verbs}, right{"", "configmaps", verbs})
	}
	return all
}

// lacks returns the verbs of a right that the role does not give for all objects.
func (r role) lacks(want right) (verbs []string) {
	for _, verb := range want.verbs {
		given := false
		for _, rule := range r.Rules {
			given = given || len(rule.ResourceNames) == 0 && oneOf(rule.APIGroups, want.group) &&
				oneOf(rule.Resources, want.resource) && oneOf(rule.Verbs, verb)
		}
		if !given {
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

func oneOf(given []string, want string) bool {
	return slices.Contains(given, want) || slices.Contains(given, "*")
}

// find returns the role that a binding names.
func (o objects) find(b binding) (role, bool) {
	i := slices.IndexFunc(o.roles, func(r role) bool {
		return r.Kind == b.RoleRef.Kind && r.Metadata.Name == b.RoleRef.Name && r.Metadata.together(b.Metadata)
	})
	if i < 0 {
		return role{}, false
	}
	return o.roles[i], true
}

// bound looks at roles and bindings: whether each role gets to the pods of something.
func (o objects) bound(f *doctor.Findings) {
	for _, b := range o.bindings {
		setting := b.Kind + " " + b.Metadata.Name
		_, has := o.find(b)
		f.Add(!has && b.RoleRef.Kind == "Role", doctor.Warning, setting, "correct roleRef, or make the role",
			"no Role %s is in these manifests: without it the binding gives no rights", b.RoleRef.Name)
		for _, a := range b.accounts() {
			used := slices.ContainsFunc(o.workloads, func(w workload) bool {
				return w.Metadata.together(a) && w.account() == a.Name
			})
			f.Add(!used, doctor.Warning, setting, "correct the name of the account, there or in the pods",
				"no StatefulSet and no Deployment of these manifests has the account %s: none gets the rights", a.Name)
		}
	}
	for _, r := range o.roles {
		given := slices.ContainsFunc(o.bindings, func(b binding) bool {
			named, has := o.find(b)
			return has && named.Kind == r.Kind && named.Metadata.Name == r.Metadata.Name
		})
		f.Add(!given, doctor.Warning, r.Kind+" "+r.Metadata.Name,
			"make a RoleBinding that names the account of the pods",
			"no binding of these manifests gives it to an account: it has no effect")
	}
}

// account is the name of that of the pods.
func (w workload) account() string { return cmp.Or(w.Spec.Template.Spec.ServiceAccountName, "default") }

// entitled looks at the rights of the account of the pods.
func (x examination) entitled() {
	const field = "spec.template.spec.serviceAccountName"
	name := x.w.account()
	at := slices.IndexFunc(x.all.accounts, func(a account) bool {
		return a.Metadata.Name == name && a.Metadata.together(x.w.Metadata)
	})
	x.add(at < 0 && name != "default", doctor.Warning, field, "make it, or correct the name",
		"no ServiceAccount %s is in these manifests: without it no pod is made", name)
	token := x.w.Spec.Template.Spec.AutomountServiceAccountToken
	if at >= 0 && token == nil {
		token = x.all.accounts[at].AutomountServiceAccountToken
	}
	rights := x.o.rights()
	x.add(len(rights) > 0 && token != nil && !*token, doctor.Error, "automountServiceAccountToken", "take it away",
		"it is false: the pods have no token, and the API server refuses them")
	given, elsewhere := role{}, false
	for _, b := range x.all.bindings {
		if !slices.ContainsFunc(b.accounts(), func(a metadata) bool {
			return a.Name == name && a.together(x.w.Metadata)
		}) {
			continue
		}
		r, has := x.all.find(b)
		given.Rules = append(given.Rules, r.Rules...)
		elsewhere = elsewhere || !has
	}
	for _, want := range rights {
		missing := given.lacks(want)
		x.add(len(missing) > 0 && !elsewhere, doctor.Error, field,
			"add a rule to its Role, and bind that to the account",
			"%s may not %s %s: the API server refuses the nodes", name, strings.Join(missing, ", "), want.resource)
		x.add(len(missing) > 0 && elsewhere, doctor.Note, field, "see that the role has it",
			"whether %s may %s %s, a role says that is not in these manifests", name, strings.Join(missing, ", "),
			want.resource)
	}
}
