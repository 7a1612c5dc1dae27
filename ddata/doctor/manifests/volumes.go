package manifests

import (
	"path"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/doctor"
)

// volume returns the volume or the claim of a name.
func (x examination) volume(name string) (v volume, claimed, has bool) {
	if slices.ContainsFunc(x.w.Spec.VolumeClaimTemplates, func(c claim) bool { return c.Metadata.Name == name }) {
		return volume{}, true, true
	}
	volumes := x.w.Spec.Template.Spec.Volumes
	if i := slices.IndexFunc(volumes, func(v volume) bool { return v.Name == name }); i >= 0 {
		return volumes[i], false, true
	}
	return volume{}, false, false
}

// stored looks at the volumes.
func (x examination) stored() {
	claims := x.w.Spec.VolumeClaimTemplates
	x.add(x.w.Kind == "StatefulSet" && len(claims) == 0, doctor.Note, "spec.volumeClaimTemplates",
		"give each pod a volume, or use a Deployment", "none: nothing survives a stop of all pods")
	for _, c := range claims {
		x.add(!slices.ContainsFunc(x.c.VolumeMounts, func(m mount) bool { return m.Name == c.Metadata.Name }),
			doctor.Error, "volumeMounts", "mount it where the node has its directory",
			"the volume %s of each pod is mounted nowhere: the node writes elsewhere, or nothing", c.Metadata.Name)
	}
	for _, v := range x.w.Spec.Template.Spec.Volumes {
		x.add(v.PersistentVolumeClaim.ClaimName != "" && x.replicas() > 1, doctor.Error,
			"spec.template.spec.volumes "+v.Name, "use a StatefulSet with volumeClaimTemplates",
			"all pods have the volume %s: a directory is for one node, and the others do not start",
			v.PersistentVolumeClaim.ClaimName)
	}
	for _, m := range x.c.VolumeMounts {
		v, _, has := x.volume(m.Name)
		x.add(!has, doctor.Error, "volumeMounts "+m.MountPath, "name one of the pod",
			"the pod has no volume %s", m.Name)
		x.add(m.SubPath != "" && v.renewed(), doctor.Warning, "volumeMounts "+m.MountPath, "mount the directory",
			"a file that is mounted by subPath stays as it was: a certificate is never renewed")
	}
	if dir, has := x.c.variable(x.o.Variables.Dir); has {
		x.directory(path.Clean(dir))
	}
}

// directory looks at where the directory of the node is.
func (x examination) directory(dir string) {
	setting := "env " + x.o.Variables.Dir
	var on mount // the innermost one
	for _, m := range x.c.VolumeMounts {
		at := path.Clean(m.MountPath)
		if (at == dir || strings.HasPrefix(dir, strings.TrimSuffix(at, "/")+"/")) && len(at) > len(on.MountPath) {
			on = m
			on.MountPath = at
		}
	}
	if on.MountPath == "" {
		fixed := x.c.SecurityContext.ReadOnlyRootFilesystem
		x.add(fixed, doctor.Error, setting, "mount a volume there", "no volume is mounted at %s, and the root file "+
			"system is read-only: the node does not start", dir)
		x.add(!fixed, doctor.Warning, setting, "mount a volume there",
			"no volume is mounted at %s: it is gone when the container is started again", dir)
		return
	}
	v, claimed, _ := x.volume(on.Name)
	x.add(claimed && on.SubPath == "" && on.MountPath == dir, doctor.Warning, setting, "give a directory within "+dir,
		"it is the root of a volume, where file systems have lost+found: the node does not start there")
	if e := v.EmptyDir; e != nil {
		x.add(e.Medium == "Memory", doctor.Warning, setting, "use volumeClaimTemplates",
			"%s is in memory: it counts against the limit, and is gone with the pod", dir)
		x.add(e.Medium != "Memory", doctor.Warning, setting, "use volumeClaimTemplates", "%s is gone with the pod", dir)
	}
}
