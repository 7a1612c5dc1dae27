package manifests_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/doctor"
	"github.com/coterie-go/coterie/ddata/doctor/manifests"
)

// kit is one form of the example's manifests, of which there is nothing to say.
func kit(t *testing.T, form string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{"shop.yaml", form} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "kubernetes", "manifests", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = text
	}
	return files
}

// options are those of a form of the example.
func options(form string) manifests.Options {
	o := manifests.Options{
		Leave: 25 * time.Second, Drain: 5 * time.Second, Founders: 3,
		Variables: manifests.Variables{Leave: "SHOP_LEAVE", Drain: "SHOP_DRAIN", Replicas: "SHOP_REPLICAS"},
	}
	if form == set {
		o.Variables.Dir = "SHOP_DIR"
	} else {
		o.Pods, o.Leases = true, true
	}
	return o
}

const set, deploy, common = "statefulset.yaml", "deployment.yaml", "shop.yaml"

// A change of one line is found, and is the only finding.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		form, file, old, new string
		severity             doctor.Severity
		want                 string
	}{
		{set, set, "podManagementPolicy: Parallel", "podManagementPolicy: OrderedReady", doctor.Error,
			"StatefulSet shop: spec.podManagementPolicy: it is OrderedReady"},
		{set, set, "replicas: 3", "replicas: 2", doctor.Warning, "the crash of one stops the other one"},
		{set, set, "replicas: 3", "replicas: 4", doctor.Note, "4 pods bear the loss of 1 at once"},
		{set, set, "replicas: 3", "replicas: 7", doctor.Error, "3 founders are not more than half of 7 pods"},
		{set, set, "topologySpreadConstraints:", "ignored:", doctor.Warning, "all pods may run on one machine"},
		{set, set, "terminationGracePeriodSeconds: 40", "terminationGracePeriodSeconds: 30", doctor.Error,
			"it is killed while it hands over; raise it to 33"},
		{set, set, "terminationGracePeriodSeconds: 40", "terminationGracePeriodSeconds: 4", doctor.Error,
			"the preStop hook alone takes 5s"},
		{set, set, "lifecycle:", "ignored:", doctor.Warning, "gets SIGTERM before those that balance requests know"},
		{set, set, "readinessProbe:", "ignored:", doctor.Error, "readinessProbe: none"},
		{set, set, "livenessProbe:", "ignored:", doctor.Note, "livenessProbe: none"},
		{set, set, "path: /livez", "path: /readyz", doctor.Error, "nodes that wait for others are started again"},
		{set, set, "periodSeconds: 10", "periodSeconds: 1", doctor.Warning, "it gives up after 3 s"},
		{set, set, "periodSeconds: 2", "periodSeconds: 40", doctor.Warning, "it notices after 40 s"},
		{set, set, "path: /livez, port: probes", "path: /livez, port: other", doctor.Error,
			"the container has no port other"},
		{set, set, "value: 400MiB", "value: 500MiB", doctor.Warning, "500MiB of a limit of 512Mi"},
		{set, set, "name: GOMEMLIMIT", "name: OTHER", doctor.Warning, "Go does not know the limit of 512Mi"},
		{set, set, "limits: {memory: 512Mi}", "limits: {memory: 512Mi, cpu: 500m}", doctor.Warning, "500m: a process"},
		{set, set, "limits: {memory: 512Mi}", "limits: {memory: much}", doctor.Error, `"much" is no quantity`},
		{set, set, "limits: {memory: 512Mi}", "limits: {}", doctor.Note, "the machine may kill any pod instead"},
		{set, set, "volumeClaimTemplates:", "ignored:", doctor.Note, "nothing survives a stop of all pods"},
		{set, set, "mountPath: /tls,", "mountPath: /tls, subPath: tls.crt,", doctor.Warning, "never renewed"},
		{set, common, "publishNotReadyAddresses: true", "publishNotReadyAddresses: false", doctor.Error,
			"no cluster is founded"},
		{set, common, "clusterIP: None", "clusterIP: 10.0.0.1", doctor.Error,
			"the service has one address for all nodes"},
		{set, common, "name: shop-nodes", "name: nodes", doctor.Error, `no headless Service "shop-nodes" names the pods`},
		{set, common, "targetPort: http", "targetPort: web", doctor.Error, "the pods of shop have no port web"},
		{set, common, "maxUnavailable: 1", "maxUnavailable: 0", doctor.Error, "a machine can never be drained"},
		{set, common, "maxUnavailable: 1", "minAvailable: 100%", doctor.Error, "a machine can never be drained"},
		{set, common, "maxUnavailable: 1", "maxUnavailable: 50%", doctor.Error, "it lets 2 of 3 pods go at once"},
		{set, common, "maxUnavailable: 1", "other: 1", doctor.Error, "neither minAvailable nor maxUnavailable"},
		{set, common, "kind: PodDisruptionBudget", "kind: Other", doctor.Warning, "may stop all of them at once"},
		{deploy, deploy, "type: RollingUpdate", "type: Recreate", doctor.Error, "Recreate stops all pods at once"},
		{deploy, deploy, "maxUnavailable: 0", "maxUnavailable: 75%", doctor.Error,
			"2 of 3 pods may be stopped at once"},
		{deploy, deploy, "maxSurge: 1", "maxSurge: 100%", doctor.Error,
			"not more than half of the 6 pods of a roll-out"},
		{deploy, deploy, "secret:", "persistentVolumeClaim: {claimName: one}\n          ignored:", doctor.Error,
			"all pods have the volume one"},
		{deploy, deploy, "name: coterie,", "name: other,", doctor.Warning,
			"has a container with a port called coterie"},
		{deploy, deploy, "labels: {app: shop}\n    spec:", "labels: {app: other}\n    spec:", doctor.Error,
			"it does not select the pods of the template"},
		{set, set, "replicas: 3", "replicas: 0", doctor.Warning, "0: no pod runs"},
		{set, set, "updateStrategy: {type: RollingUpdate}", "updateStrategy: {type: OnDelete}", doctor.Note,
			"until it is deleted by hand"},
		{set, set, "exec: {command: [/shop, -drain]}", "httpGet: {path: /drain, port: other}", doctor.Error,
			"lifecycle.preStop: the container has no port other"},
		{set, set, `SHOP_REPLICAS, value: "3"`, `SHOP_REPLICAS, value: "5"`, doctor.Error,
			"the program is told of 5 pods, and there are 3"},
		{set, set, `SHOP_REPLICAS, value: "3"`, `SHOP_REPLICAS, value: many`, doctor.Error, `"many" is none`},
		{set, set, "SHOP_LEAVE, value: 25s", "SHOP_LEAVE, value: 55s", doctor.Error, "55s to leave"},
		{set, set, "SHOP_DRAIN, value: 5s", "SHOP_DRAIN, value: 45s", doctor.Error, "the preStop hook alone takes 45s"},
		{set, set, "SHOP_DRAIN, value: 5s", "SHOP_DRAIN, value: long", doctor.Error, `"long" is no duration`},
		{set, set, "SHOP_DRAIN, value: 5s", "OTHER, value: 5s", doctor.Note,
			"env SHOP_DRAIN: the container has no such variable"},
		{set, set, "- {name: data, mountPath: /data}", "", doctor.Error,
			"the volume data of each pod is mounted nowhere"},
		{set, set, "- {name: data, mountPath: /data}", "", doctor.Error,
			"no volume is mounted at /data/node, and the root file system is read-only"},
		{set, set, "SHOP_DIR, value: /data/node", "SHOP_DIR, value: /data", doctor.Warning,
			"it is the root of a volume"},
		{set, set, "SHOP_DIR, value: /data/node", "SHOP_DIR, value: /database", doctor.Error,
			"no volume is mounted at /database"},
		{set, set, "- {name: tls, mountPath: /tls", "- {name: cert, mountPath: /tls", doctor.Error,
			"the pod has no volume cert"},
		{set, common, "- name: coterie\n      port: 7946", "- name: nodes\n      port: 7946", doctor.Warning,
			"there are no SRV records of that name"},
		{set, common, "matchLabels: {app: shop}\n---",
			"matchExpressions: [{key: app, operator: NotIn, values: [shop]}]\n---", doctor.Warning,
			"none selects the pods: a drain"},
		{set, common, "- {port: coterie, protocol: TCP}", "- {port: http, protocol: TCP}", doctor.Error,
			"through to each other's port coterie"},
		{set, common, "- {port: coterie, protocol: TCP}", "- {port: coterie, protocol: UDP}", doctor.Error,
			"through to each other's port coterie"},
		{set, common, "matchLabels: {app: shop}\n      ports:", "matchLabels: {app: other}\n      ports:", doctor.Error,
			"through to each other's port coterie"},
		{set, common, "- podSelector:\n", "- namespaceSelector: {}\n          podSelector:\n", doctor.Note,
			"namespaces or addresses decide"},
		{set, common, "- {port: http, protocol: TCP}", "- {port: 7000, endPort: 8000}", doctor.Warning,
			"it lets everyone through to the port of the nodes"},
		{set, common, "- {port: http, protocol: TCP}", "- {port: web, protocol: TCP}", doctor.Error,
			"NetworkPolicy shop: the pods of shop have no port web"},
		{set, common, "policyTypes: [Ingress]", "policyTypes: [Ingress, Egress]", doctor.Error,
			"no rule of Egress lets the pods of shop"},
		{deploy, deploy, "resources: [leases]", "resources: [other]", doctor.Error,
			"shop may not get, create, update leases"},
		{deploy, deploy, "verbs: [list]", "verbs: [watch]", doctor.Error, "shop may not list pods"},
		{deploy, deploy, "apiGroups: [coordination.k8s.io]", `apiGroups: [""]`, doctor.Error,
			"shop may not get, create, update leases"},
		{deploy, deploy, "verbs: [list]", "verbs: [list]\n    resourceNames: [one]", doctor.Error,
			"shop may not list pods"},
		{deploy, deploy, "kind: RoleBinding", "kind: Other", doctor.Error, "shop may not list pods"},
		{deploy, deploy, "kind: RoleBinding", "kind: Other", doctor.Warning, "Role shop: no binding"},
		{deploy, deploy, "kind: Role\n  name: shop", "kind: Role\n  name: other", doctor.Warning,
			"RoleBinding shop: no Role other"},
		{deploy, deploy, "kind: Role\n  name: shop", "kind: ClusterRole\n  name: other", doctor.Note,
			"whether shop may list pods, a role says that is not in these manifests"},
		{deploy, deploy, "kind: ServiceAccount\n    name: shop", "kind: ServiceAccount\n    name: other",
			doctor.Warning,
			"has the account other"},
		{deploy, deploy, "serviceAccountName: shop", "serviceAccountName: other", doctor.Error,
			"other may not list pods"},
		{deploy, deploy, "serviceAccountName: shop", "serviceAccountName: other", doctor.Warning,
			"no ServiceAccount other is in these manifests"},
		{deploy, deploy, "serviceAccountName: shop",
			"serviceAccountName: shop\n      automountServiceAccountToken: false", doctor.Error, "have no token"},
		{deploy, common, "kind: ServiceAccount\n", "kind: ServiceAccount\nautomountServiceAccountToken: false\n",
			doctor.Error, "have no token"},
		{deploy, deploy, "kind: Deployment", "kind: [", doctor.Error, "it is no YAML of Kubernetes"},
	} {
		files := kit(t, c.form)
		if found := manifests.Check(files, options(c.form)); len(found) > 0 {
			t.Fatal(found)
		}
		text := strings.Replace(string(files[c.file]), c.old, c.new, 1)
		if text == string(files[c.file]) {
			t.Errorf("%s does not have %q", c.file, c.old)
		}
		files[c.file] = []byte(text)
		found := manifests.Check(files, options(c.form))
		if !slices.ContainsFunc(found, func(f doctor.Finding) bool {
			return f.Severity == c.severity && strings.Contains(f.String(), c.want) && f.Remedy != ""
		}) {
			t.Errorf("%q: want %v %q: %v", c.new, c.severity, c.want, found)
		}
	}
}

// A directory that goes with its pod is none.
func TestDirectoryThatGoesWithThePod(t *testing.T) {
	for medium, want := range map[string]string{"": "is gone with the pod", "Memory": "is in memory: it counts"} {
		files := kit(t, set)
		files[set] = []byte(strings.NewReplacer("volumeClaimTemplates:", "ignored:", "volumes:\n",
			"volumes:\n        - {name: data, emptyDir: {medium: \""+medium+"\"}}\n").Replace(string(files[set])))
		found := manifests.Check(files, options(set))
		if !slices.ContainsFunc(found, func(f doctor.Finding) bool {
			return f.Setting == "StatefulSet shop: env SHOP_DIR" && strings.Contains(f.Problem, want)
		}) {
			t.Errorf("want %q: %v", want, found)
		}
	}
}

// Both forms at once have the same pods.
func TestTwoWorkloadsOfTheSamePods(t *testing.T) {
	files := kit(t, set)
	files[deploy] = kit(t, deploy)[deploy]
	const want = "StatefulSet shop: spec.template.metadata.labels: Deployment shop selects its pods, too"
	has := func(f doctor.Finding) bool { return f.Severity == doctor.Error && strings.Contains(f.String(), want) }
	if found := manifests.Check(files, options(set)); !slices.ContainsFunc(found, has) {
		t.Errorf("want %q: %v", want, found)
	}
	files[deploy] = []byte(strings.ReplaceAll(string(files[deploy]), "app: shop", "app: other"))
	if found := manifests.Check(files, options(set)); slices.ContainsFunc(found, has) {
		t.Error(found)
	}
}

// Objects of other namespaces are others.
func TestNamespaces(t *testing.T) {
	files := kit(t, deploy)
	const kind, named = "kind: Deployment\nmetadata:\n", "metadata:\n  name:"
	text := strings.Replace(string(files[deploy]), kind, kind+"  namespace: one\n", 1)
	files[deploy] = []byte(text)
	if found := manifests.Check(files, options(deploy)); len(found) > 0 {
		t.Error(found) // those without one are where kubectl is told
	}
	const other = "metadata:\n  namespace: two\n  name:"
	files[deploy] = []byte(strings.ReplaceAll(text, named, other))
	files[common] = []byte(strings.ReplaceAll(string(files[common]), named, other))
	found := manifests.Check(files, options(deploy))
	for _, want := range []string{"none selects the pods", "no ServiceAccount shop", "may not list pods"} {
		if !slices.ContainsFunc(found, func(f doctor.Finding) bool { return strings.Contains(f.Problem, want) }) {
			t.Errorf("want %q: %v", want, found)
		}
	}
}

// Objects of a List are looked at, too.
func TestList(t *testing.T) {
	text := "kind: List\nitems:\n- kind: Deployment\n  metadata: {name: a}\n  spec:\n    template:\n" +
		"      spec:\n        containers:\n        - ports: [{name: nodes, containerPort: 1}]\n"
	found := manifests.Check(map[string][]byte{"a.yaml": []byte(text)}, manifests.Options{Port: "nodes"})
	if !slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Setting == "Deployment a: readinessProbe" }) {
		t.Error(found)
	}
}
