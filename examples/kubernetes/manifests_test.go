package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/doctor/manifests"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
)

// kit is what the manifests of one form say.
type kit struct {
	name     string // of the file of the form
	files    map[string][]byte
	account  corev1.ServiceAccount
	role     rbacv1.Role
	binding  rbacv1.RoleBinding
	services map[string]corev1.Service
	budget   policyv1.PodDisruptionBudget
	policy   networkingv1.NetworkPolicy
	set      *appsv1.StatefulSet // or
	deploy   *appsv1.Deployment
}

// kits reads both forms. Every field of every object must be one that Kubernetes knows.
func kits(t testing.TB) []*kit {
	t.Helper()
	var all []*kit
	for _, form := range []string{"statefulset.yaml", "deployment.yaml"} {
		k := &kit{name: form, files: map[string][]byte{}, services: map[string]corev1.Service{}}
		for _, name := range []string{"shop.yaml", form} {
			text, err := os.ReadFile(filepath.Join("manifests", name))
			if err != nil {
				t.Fatal(err)
			}
			k.files[name] = text
			for _, document := range bytes.Split(text, []byte("\n---\n")) {
				k.read(t, document)
			}
		}
		all = append(all, k)
	}
	return all
}

func (k *kit) read(t testing.TB, document []byte) {
	t.Helper()
	var kind struct{ Kind string }
	if err := yaml.Unmarshal(document, &kind); err != nil {
		t.Fatal(err)
	}
	var service corev1.Service
	var into any
	switch kind.Kind {
	case "ServiceAccount":
		into = &k.account
	case "Role":
		into = &k.role
	case "RoleBinding":
		into = &k.binding
	case "Service":
		into = &service
	case "PodDisruptionBudget":
		into = &k.budget
	case "NetworkPolicy":
		into = &k.policy
	case "StatefulSet":
		k.set = &appsv1.StatefulSet{}
		into = k.set
	case "Deployment":
		k.deploy = &appsv1.Deployment{}
		into = k.deploy
	default:
		t.Fatalf("unknown kind %q", kind.Kind)
	}
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		t.Fatalf("%s: %v", kind.Kind, err)
	}
	if service.Name != "" {
		k.services[service.Name] = service
	}
}

func (k *kit) template() corev1.PodTemplateSpec {
	if k.set != nil {
		return k.set.Spec.Template
	}
	return k.deploy.Spec.Template
}

func (k *kit) container() corev1.Container { return k.template().Spec.Containers[0] }

func (k *kit) replicas() int {
	if k.set != nil {
		return int(*k.set.Spec.Replicas)
	}
	return int(*k.deploy.Spec.Replicas)
}

// surge is how many pods more there are in a roll-out.
func (k *kit) surge() int {
	if k.set != nil {
		return 0
	}
	return k.deploy.Spec.Strategy.RollingUpdate.MaxSurge.IntValue()
}

func (k *kit) grace() time.Duration {
	return time.Duration(*k.template().Spec.TerminationGracePeriodSeconds) * time.Second
}

func (k *kit) minReady() time.Duration {
	if k.set != nil {
		return time.Duration(k.set.Spec.MinReadySeconds) * time.Second
	}
	return time.Duration(k.deploy.Spec.MinReadySeconds) * time.Second
}

// env is the environment of a pod with an address, as the kubelet makes it.
func (k *kit) env(ip string) map[string]string {
	env := map[string]string{}
	for _, e := range k.container().Env {
		value := e.Value
		if from := e.ValueFrom; from != nil {
			if value = valueOf(from, ip); value == "" {
				continue
			}
		}
		for name, known := range env { // order: names do not overlap
			value = strings.ReplaceAll(value, "$("+name+")", known)
		}
		env[e.Name] = value
	}
	return env
}

// valueOf is what a pod with an address has from elsewhere: of a secret, what it must have.
func valueOf(from *corev1.EnvVarSource, ip string) string {
	if secret := from.SecretKeyRef; secret == nil {
		return map[string]string{"status.podIP": ip,
			"metadata.namespace": kubetest.Namespace}[from.FieldRef.FieldPath]
	} else if secret.Optional == nil || !*secret.Optional {
		return secret.Name + "-" + secret.Key
	}
	return ""
}

// settings are what the program makes of the environment, and the variables that it has asked for.
func (k *kit) settings(t testing.TB) (settings, map[string]bool) {
	t.Helper()
	env, asked := k.env("10.1.2.3"), map[string]bool{}
	s, wrong := read(func(name string) (string, bool) {
		asked[name] = true
		v, ok := env[name]
		return v, ok
	})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return s, asked
}

// port returns the number of a named port of the container.
func (k *kit) port(t testing.TB, name string) int32 {
	t.Helper()
	for _, p := range k.container().Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	t.Errorf("%s: the container has no port %s", k.name, name)
	return 0
}

// Ports, variables, and paths are those of the program.
func TestManifestsFitTheProgram(t *testing.T) {
	for _, k := range kits(t) {
		s, asked := k.settings(t)
		for _, e := range k.container().Env {
			if strings.HasPrefix(e.Name, "SHOP_") && !asked[e.Name] {
				t.Errorf("%s: the program does not know %s", k.name, e.Name)
			}
			if strings.Contains(k.env("10.1.2.3")[e.Name], "$(") {
				t.Errorf("%s: %s is %q", k.name, e.Name, k.env("10.1.2.3")[e.Name])
			}
		}
		for addr, port := range map[string]string{s.http: "http", s.probes: "probes", s.console: "console",
			s.bind: nodesPort, s.advertise: nodesPort} {
			if want := fmt.Sprint(":", k.port(t, port)); !strings.HasSuffix(addr, want) {
				t.Errorf("%s: port %s: the program has %s, the container %s", k.name, port, addr, want)
			}
		}
		if s.advertise != "10.1.2.3:7946" || s.replicas != k.replicas() || s.namespace != kubetest.Namespace ||
			s.read != "shop-console-read" || s.operate != "" {
			t.Errorf("%s: %+v", k.name, s)
		}
		x := &service{settings: s, log: slog.New(slog.DiscardHandler)}
		if hook := k.container().Lifecycle.PreStop.Exec; hook == nil || !slices.Equal(hook.Command, preStop) {
			t.Errorf("%s: the hook is %v", k.name, hook)
		}
		for _, get := range []*corev1.HTTPGetAction{
			k.container().LivenessProbe.HTTPGet, k.container().ReadinessProbe.HTTPGet,
		} {
			w := httptest.NewRecorder()
			x.probes().ServeHTTP(w, httptest.NewRequest("GET", get.Path, nil))
			if w.Code == http.StatusNotFound || get.Port.StrVal != "probes" {
				t.Errorf("%s: %s on port %v: %d", k.name, get.Path, get.Port, w.Code)
			}
		}
		k.checkVolumes(t, s)
	}
}

// preStop is the hook of the program.
var preStop = []string{program, "-drain"}

// program is that of the image.
const program = "/shop"

// checkVolumes: what the program reads and writes is mounted.
func (k *kit) checkVolumes(t *testing.T, s settings) {
	t.Helper()
	mounts := map[string]corev1.VolumeMount{}
	for _, m := range k.container().VolumeMounts {
		mounts[m.Name] = m
		if m.SubPath != "" {
			t.Errorf("%s: %s is mounted by subPath, and would not be renewed", k.name, m.Name)
		}
	}
	volumes := k.template().Spec.Volumes
	if m := mounts["tls"]; m.MountPath != s.tls || !m.ReadOnly || len(volumes) != 1 || volumes[0].Name != "tls" ||
		volumes[0].Secret.Optional != nil {
		t.Errorf("%s: certificates are read from %s, and mounted at %s", k.name, s.tls, m.MountPath)
	}
	if k.set == nil {
		if s.dir != "" || len(mounts) != 1 {
			t.Errorf("%s: there is a directory %q, and %d mounts", k.name, s.dir, len(mounts))
		}
		return
	}
	claim := k.set.Spec.VolumeClaimTemplates[0]
	m := mounts[claim.Name]
	if rel, err := filepath.Rel(m.MountPath, s.dir); err != nil || rel == "." || strings.HasPrefix(rel, "..") {
		t.Errorf("%s: the directory %s is not within the volume at %s", k.name, s.dir, m.MountPath)
	}
	if claim.Spec.AccessModes[0] != corev1.ReadWriteOnce {
		t.Errorf("%s: the volume has the modes %v", k.name, claim.Spec.AccessModes)
	}
}

// Services, budget, policy and account are about the pods, and name their ports.
func TestManifestsFitEachOther(t *testing.T) {
	for _, k := range kits(t) {
		s, _ := k.settings(t)
		labels := k.template().Labels
		selectors := map[string]map[string]string{
			"budget": k.budget.Spec.Selector.MatchLabels, "policy": k.policy.Spec.PodSelector.MatchLabels,
			"peers of the policy": k.policy.Spec.Ingress[0].From[0].PodSelector.MatchLabels,
		}
		targets := map[string]intstr.IntOrString{}
		for name, service := range k.services {
			selectors["service "+name] = service.Spec.Selector
			targets["service "+name] = service.Spec.Ports[0].TargetPort
		}
		if k.set != nil {
			selectors["set"] = k.set.Spec.Selector.MatchLabels
		} else {
			selectors["deployment"] = k.deploy.Spec.Selector.MatchLabels
		}
		for what, sel := range selectors {
			if !maps.Equal(sel, labels) {
				t.Errorf("%s: the %s selects %v, and pods have %v", k.name, what, sel, labels)
			}
		}
		for i, rule := range k.policy.Spec.Ingress {
			for j, p := range rule.Ports {
				if name := p.Port.StrVal; name == "probes" || name == "console" && len(rule.From) == 0 {
					t.Errorf("the policy lets everyone reach the port %s", name)
				}
				targets[fmt.Sprint("policy ", i, j)] = *p.Port
			}
		}
		for what, port := range targets {
			if k.port(t, port.StrVal) == 0 {
				t.Errorf("%s: %s", k.name, what)
			}
		}
		nodes := k.services["shop-nodes"]
		if nodes.Spec.ClusterIP != corev1.ClusterIPNone || !nodes.Spec.PublishNotReadyAddresses ||
			nodes.Spec.Ports[0].Name != nodesPort || nodes.Spec.Ports[0].Port != k.port(t, nodesPort) {
			t.Errorf("the service of the nodes is %+v", nodes.Spec)
		}
		if k.set != nil {
			if k.set.Spec.ServiceName != nodes.Name || s.nodes != nodes.Name+".shop.svc.cluster.local." {
				t.Errorf("nodes are looked for at %s, the pods' service is %s", s.nodes, k.set.Spec.ServiceName)
			}
			if k.set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
				t.Error("pods are started one after the other")
			}
		} else if want := "app=" + labels["app"]; s.labels != want {
			t.Errorf("pods are looked for with %q, and have %q", s.labels, want)
		}
		k.checkRights(t, s)
	}
}

// checkRights: the pods have the rights of the role if the program asks the API server for something, and else none.
func (k *kit) checkRights(t *testing.T, s settings) {
	t.Helper()
	pod := k.template().Spec
	if pod.ServiceAccountName != k.account.Name {
		t.Errorf("%s: the pods have the account %s", k.name, pod.ServiceAccountName)
	}
	if s.labels == "" && !s.leases {
		if len(k.role.Rules) > 0 || len(k.binding.Subjects) > 0 || pod.AutomountServiceAccountToken == nil ||
			*pod.AutomountServiceAccountToken {
			t.Errorf("%s: the pods have rights that they do not use", k.name)
		}
		return
	}
	if pod.AutomountServiceAccountToken != nil || k.binding.Subjects[0].Name != k.account.Name ||
		k.binding.RoleRef.Name != k.role.Name {
		t.Errorf("%s: the account %s has no rights", k.name, pod.ServiceAccountName)
	}
}

// A pod has the time that it needs: to be noticed as not ready, to leave, and to end.
func TestManifestsLeaveTime(t *testing.T) {
	const margin = 5 * time.Second
	for _, k := range kits(t) {
		s, _ := k.settings(t)
		if need := s.drain + s.leave + margin; k.grace() < need {
			t.Errorf("%s: the grace period is %v, and a pod needs %v", k.name, k.grace(), need)
		}
		if s.grace != k.grace() {
			t.Errorf("%s: the grace period is %v, and SHOP_GRACE %v", k.name, k.grace(), s.grace)
		}
		ready, live := k.container().ReadinessProbe, k.container().LivenessProbe
		noticed := seconds(ready.PeriodSeconds*ready.FailureThreshold + ready.TimeoutSeconds)
		if s.drain <= noticed {
			t.Errorf("%s: it takes %v until a pod counts as not ready, and the hook returns after %v", k.name,
				noticed, s.drain)
		}
		if s.leave <= requestLimit {
			t.Errorf("%s: a request may take %v, and all of leaving %v", k.name, requestLimit, s.leave)
		}
		const stuckAfter = 15 * time.Second // a pause of a machine is no reason to start pods again
		if patience := seconds(live.PeriodSeconds * live.FailureThreshold); patience < stuckAfter {
			t.Errorf("%s: a pod is started again after %v", k.name, patience)
		}
		if most := k.replicas() + k.surge(); 2*s.founders() <= most {
			t.Errorf("%s: %d founders of %d pods can found two clusters", k.name, s.founders(), most)
		}
	}
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// The rights of the role are enough for discovery and for leases, and the program asks for no others.
func TestRoleIsEnough(t *testing.T) {
	server := kubetest.Start(t)
	for _, k := range kits(t) {
		if k.deploy == nil {
			continue
		}
		var rules []kubetest.Rule
		for _, r := range k.role.Rules {
			rules = append(rules, kubetest.Rule{Group: r.APIGroups[0], Resources: r.Resources, Verbs: r.Verbs})
			for _, verb := range r.Verbs {
				if slices.Contains([]string{"*", "delete", "patch", "watch"}, verb) {
					t.Errorf("the role grants %s on %v", verb, r.Resources)
				}
			}
		}
		server.Grant("", rules...)
		s, _ := k.settings(t)
		s.api, s.tls = server.URL(), ""
		cfg, end, wrong := s.config(t.Context(), slog.New(slog.DiscardHandler))
		defer end()
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		server.Put(t, "pods", "a", map[string]any{
			"metadata": map[string]any{"labels": k.template().Labels}, "spec": k.template().Spec,
			"status": map[string]any{"podIP": "10.1.2.3", "phase": "Running"},
		})
		if a := discovery.Ask(t.Context(), cfg.Discovery); a.Err != nil || !slices.Equal(a.Addrs,
			[]string{"10.1.2.3:7946"}) {
			t.Error(a)
		}
		l, err := cfg.Leases.Lock("x", "me")
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := l.Acquire(t.Context(), nil); !ok || err != nil {
			t.Error(ok, err)
		}
		if err := l.Save(t.Context(), []byte("x")); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The doctor finds nothing in the manifests.
func TestDoctorFindsNothing(t *testing.T) {
	for _, k := range kits(t) {
		s, _ := k.settings(t)
		o := manifests.Options{
			Founders: s.founders(), Pods: s.labels != "", Leases: s.leases,
			Variables: manifests.Variables{Leave: "SHOP_LEAVE", Drain: "SHOP_DRAIN", Replicas: "SHOP_REPLICAS"},
		}
		if s.dir != "" {
			o.Variables.Dir = "SHOP_DIR"
		}
		for _, f := range manifests.Check(k.files, o) {
			t.Errorf("%s: %s", k.name, f)
		}
	}
}
