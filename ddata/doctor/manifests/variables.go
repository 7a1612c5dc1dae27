package manifests

import (
	"strconv"
	"time"

	"github.com/coterie-go/coterie/ddata/doctor"
)

// Variables are the names of variables of the environment by which manifests tell the program something. What a
// container has in them counts, whatever Options say. Empty names are not looked for.
type Variables struct {
	// Leave and Drain say what the fields of Options of these names do, as Go writes durations.
	Leave, Drain string
	// Replicas is of how many pods the program believes that there are.
	Replicas string
	// Dir is the directory of the node.
	Dir string
}

// configured returns the options with what the container has in its variables. It looks at those.
func (x examination) configured() Options {
	o := x.o
	for _, v := range []struct {
		name string
		into *time.Duration
	}{{o.Variables.Leave, &o.Leave}, {o.Variables.Drain, &o.Drain}} {
		text, has := x.c.variable(v.name)
		x.absent(v.name, has)
		if !has {
			continue
		}
		d, err := time.ParseDuration(text)
		x.add(err != nil, doctor.Error, "env "+v.name, "give a time such as 10s", "%q is no duration", text)
		if err == nil {
			*v.into = d
		}
	}
	text, has := x.c.variable(o.Variables.Replicas)
	x.absent(o.Variables.Replicas, has)
	n, err := strconv.Atoi(text)
	x.add(has && err != nil, doctor.Error, "env "+o.Variables.Replicas, "give a number", "%q is none", text)
	x.add(has && err == nil && n != x.replicas(), doctor.Error, "env "+o.Variables.Replicas,
		"make it the same as spec.replicas", "the program is told of %d pods, and there are %d: it founds the cluster "+
			"of the wrong number", n, x.replicas())
	return o
}

// absent adds a finding about a variable that was named, and is not there.
func (x examination) absent(name string, has bool) {
	x.add(name != "" && !has, doctor.Note, "env "+name, "correct the name",
		"the container has no such variable: it is not judged")
}
