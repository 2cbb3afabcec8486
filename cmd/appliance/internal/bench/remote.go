package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Remote is a foreign server that speaks S3.
type Remote struct {
	Name   string
	URL    *url.URL // http://host:port
	KeyID  string
	Secret string
}

// ParseRemote reads "name=url,key,secret".
func ParseRemote(text string) (Remote, error) {
	name, rest, ok := strings.Cut(text, "=")
	fields := strings.SplitN(rest, ",", 3)
	if !ok || name == "" || len(fields) != 3 {
		return Remote{}, refuse("--target", nil, "A target is name=url,key,secret, for instance other=http://127.0.0.1:9100,key,secret.")
	}
	u, err := url.Parse(fields[0])
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return Remote{}, refuse("--target", err, "The URL of a target is http://host:port, without a path.")
	}
	return Remote{Name: name, URL: u, KeyID: fields[1], Secret: fields[2]}, nil
}

// checkTargets refuses two of one name, and servers on other machines unless they
// are allowed: a slip of the finger must not load somebody's network.
func (cfg Config) checkTargets() error {
	var errs []error
	seen := map[string]bool{}
	for _, p := range protocols() {
		seen[p.name] = true
	}
	for _, r := range cfg.Targets {
		if seen[r.Name] {
			errs = append(errs, refuse("--target", nil, fmt.Sprintf("The name %q is taken.", r.Name)))
		}
		seen[r.Name] = true
		if !cfg.AllowRemote && !onLoopback(r.URL.Hostname()) {
			errs = append(errs, refuse("--target", nil,
				fmt.Sprintf("%s is not on this machine. If its network may be loaded, say --allow-remote.", r.URL.Host)))
		}
	}
	return errors.Join(errs...)
}

// onLoopback tells whether all addresses of a host are this machine's own. One
// that cannot be looked up is not.
func onLoopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	addrs, err := net.DefaultResolver.LookupIP(context.Background(), "ip", host)
	return err == nil && len(addrs) > 0 && !slices.ContainsFunc(addrs, func(ip net.IP) bool { return !ip.IsLoopback() })
}

// checkProtocols refuses a word that is no protocol.
func (cfg Config) checkProtocols() error {
	var names []string
	for _, p := range protocols() {
		names = append(names, p.name)
	}
	for _, name := range cfg.Protocols {
		if !slices.Contains(names, name) {
			return refuse("--protocols", nil, fmt.Sprintf("%q is none of %v.", name, names))
		}
	}
	return nil
}
