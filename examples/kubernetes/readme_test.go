package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/transport/pki"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The commands of the page make files with which a node starts.
func TestCertificatesOfTheReadme(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip(err) // skip: the machine may lack it
	}
	_, script, _ := strings.Cut(readFile(t, "README.md"), "```sh\n")
	script, _, _ = strings.Cut(script, "```")
	sh := exec.Command("sh", "-ec", script)
	sh.Dir = t.TempDir()
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := func(name string) string { return filepath.Join(sh.Dir, name) }
	id, err := pki.Load(pki.Files{
		Cert: file("tls.crt"), Key: file("tls.key"), CA: file("ca.crt"), Name: tlsName,
	})
	if err != nil {
		t.Fatal(err)
	}
	if id.Client("x").ServerName != tlsName {
		t.Error(id.Client("x").ServerName)
	}
}

// What the page names is there: files, and objects of the manifests.
func TestReadme(t *testing.T) {
	text := readFile(t, "README.md")
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)|-f (manifests/\S+)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(link[1] + link[2]); err != nil {
			t.Error(err)
		}
	}
	for _, k := range kits(t) {
		secrets := map[string]bool{}
		for _, v := range k.template().Spec.Volumes {
			secrets[v.Secret.SecretName] = true
		}
		for _, e := range k.container().Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				from := e.ValueFrom.SecretKeyRef
				secrets[from.Name] = true
				if !strings.Contains(text, "--from-literal="+from.Key+"=") {
					t.Errorf("%s: the page makes no %s of the secret %s", k.name, from.Key, from.Name)
				}
			}
		}
		for name := range secrets { // order: each by itself
			if !strings.Contains(text, "create secret generic "+name+" ") {
				t.Errorf("%s: the page makes no secret %s", k.name, name)
			}
		}
		if k.set == nil {
			continue
		}
		port := regexp.MustCompile("statefulset/" + k.set.Name + ` \d+:(\d+)`).FindStringSubmatch(text)
		if port == nil || !strings.HasSuffix(k.env("")["SHOP_CONSOLE"], ":"+port[1]) {
			t.Errorf("the page forwards %v, and the console is at %s", port, k.env("")["SHOP_CONSOLE"])
		}
	}
}

// The image runs the program under the user and the name that the manifests say.
func TestImage(t *testing.T) {
	text := readFile(t, "Dockerfile")
	for _, k := range kits(t) {
		user := *k.template().Spec.SecurityContext.RunAsUser
		for _, want := range []string{
			"\nENTRYPOINT [\"" + program + "\"]\n", "\nCOPY --from=build " + program + " " + program + "\n",
			"\nUSER " + strconv.FormatInt(user, 10) + ":", "-t " + k.container().Image + " ", "CGO_ENABLED=1",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in the Dockerfile", k.name, want)
			}
		}
	}
}
