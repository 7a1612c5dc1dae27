package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
)

func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	f := pkitest.NewAuthority(t).Issue(dir, pkitest.Node{Names: []string{"shop-nodes"}})
	for from, to := range map[string]string{f.Cert: "tls.crt", f.Key: "tls.key",
		f.CA: "ca.crt"} { // order: each by itself
		if err := os.Rename(from, filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	kit := filepath.Join("..", "..", "..", "..", "examples", "kubernetes", "manifests")
	shop, set, deploy := filepath.Join(kit, "shop.yaml"), filepath.Join(kit, "statefulset.yaml"),
		filepath.Join(kit, "deployment.yaml")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-leave", "25s", "-drain", "5s", "-founders", "3", shop, set}, exitOK, ""},
		{[]string{"-leave", "25s", "-drain", "5s", "-founders", "2", shop, set}, exitOK, ""}, // as the help says
		{[]string{shop, set, deploy}, exitFailed, "Deployment shop selects its pods, too"},
		{[]string{"-leave", "50s", shop, set}, exitFailed, "it is killed while it hands over"},
		{[]string{"-leave-env", "SHOP_LEAVE", "-drain-env", "SHOP_DRAIN", "-replicas-env", "SHOP_REPLICAS", "-dir-env",
			"SHOP_DIR", "-founders", "3", shop, set}, exitOK, ""},
		{[]string{"-drain", "20s", "-leave-env", "SHOP_LEAVE", shop, set}, exitFailed, "25s to leave"},
		{[]string{"-pods", "-leases", set}, exitFailed, "shop may not list pods"},
		{[]string{"-dir", dir}, exitOK, ""},
		{[]string{"-tls", dir, "-tls-name", "shop-nodes"}, exitOK, ""},
		{[]string{"-tls", dir, "-tls-name", "other"}, exitFailed, "the other nodes would refuse"},
		{[]string{"-tls", t.TempDir()}, exitFailed, "error    TLS: pki: Files.Cert"},
		{[]string{"-bind", "192.0.2.1:1"}, exitFailed, "nothing can listen there"},
		{[]string{"-dns", "name.invalid.", "-port", "7946"}, exitFailed, "Config.Discovery"},
		{[]string{"-dns", "name.invalid.", "-port", "70000"}, exitUsage, "-port 70000"},
		{[]string{"-dns", "a b", "-port", "1"}, exitUsage, "is not a name"},
		{[]string{"-json", "-leave", "50s", shop, set}, exitFailed,
			`"severity":"error","setting":"StatefulSet shop: `},
		{[]string{"missing.yaml"}, exitUsage, "missing.yaml"},
		{[]string{"-leave", "25s"}, exitUsage, "-leave has nothing to act on: name manifests"},
		{[]string{"-founders", "3", "-nodes", "5"}, exitUsage, "nothing to act on"},
		{[]string{"-nodes", "5", shop, set}, exitUsage, "-nodes has nothing to act on: give -dns"},
		{[]string{"-dir", dir, "-tls-name", "x"}, exitUsage, "-tls-name has nothing to act on: give -tls"},
		{[]string{"-dir", dir, "-leave-env", "X"}, exitUsage, "-leave-env has nothing to act on: name manifests"},
		{[]string{"-json"}, exitUsage, "name manifests, or what to look at"},
		{[]string{"-unknown"}, exitUsage, "-unknown"},
		{[]string{"-help"}, exitOK, "coterie doctor"},
		{nil, exitUsage, "name manifests, or what to look at"},
	} {
		var said bytes.Buffer
		code := run(t.Context(), append([]string{"doctor"}, c.args...), stdio{out: &said, errs: &said})
		dns := len(c.args) > 0 && c.args[0] == "-dns" && c.code == exitFailed
		if dns && code == exitOK && strings.Contains(said.String(), "it names no node") {
			continue // a machine with a name server says that there is no such name
		}
		if code != c.code || !strings.Contains(said.String(), c.want) {
			t.Errorf("%q: %d %s; want %d %q", c.args, code, said.String(), c.code, c.want)
		}
	}
}

// Manifests alone say nothing of the machine on which they are read.
func TestDoctorOfManifestsAlone(t *testing.T) {
	kit := filepath.Join("..", "..", "..", "..", "examples", "kubernetes", "manifests")
	args := []string{"doctor", filepath.Join(kit, "shop.yaml"), filepath.Join(kit, "statefulset.yaml")}
	var said bytes.Buffer
	if code := run(t.Context(), args, stdio{out: &said, errs: &said}); code != exitOK ||
		said.String() != "nothing was found\n" {
		t.Errorf("%d %s", code, &said)
	}
	var f doctorFlags
	if found, err := f.environment(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("%v of nothing that was named: %v", found, err)
	}
}
