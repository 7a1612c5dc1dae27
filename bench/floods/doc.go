// Package floods measures what users' writes cost the writes of a coordinator, in the users' data of a role
// and in its reserved data.
package floods
