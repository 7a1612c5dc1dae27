// Package membership decides who is in the cluster, who is oldest and who may run.
package membership
