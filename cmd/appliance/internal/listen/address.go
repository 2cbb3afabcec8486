package listen

import (
	"net"
	"os"
	"strings"
)

// Hostname returns the machine's name when it is one label that a URL can
// hold, else "".
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	name = strings.ToLower(name)
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || name == "localhost" {
		return ""
	}
	return name
}

// OutsideAddrs returns the addresses under which other machines may reach this
// one, IPv4 first. Link-local ones are left out: a URL needs a zone for them.
func OutsideAddrs() []net.IP {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var v4, v6 []net.IP
	for _, a := range all {
		ipnet, ok := a.(*net.IPNet)
		if !ok || !ipnet.IP.IsGlobalUnicast() {
			continue
		}
		if ipnet.IP.To4() != nil {
			v4 = append(v4, ipnet.IP)
		} else {
			v6 = append(v6, ipnet.IP)
		}
	}
	return append(v4, v6...)
}

// URLs returns what a person may type into a browser to reach a listener, the
// most useful first: the machine's addresses for one on all interfaces, else
// the address itself. At most five.
func URLs(scheme string, at net.Addr) []string {
	hosts := Hosts(at)
	for i, h := range hosts {
		hosts[i] = scheme + "://" + h
	}
	return hosts
}

// Hosts is URLs without a scheme: hosts with the port.
func Hosts(at net.Addr) []string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return []string{at.String()}
	}
	_, port, err := net.SplitHostPort(tcp.String())
	if err != nil {
		return nil
	}
	if !tcp.IP.IsUnspecified() {
		return []string{net.JoinHostPort(tcp.IP.String(), port)}
	}
	out := []string{net.JoinHostPort("localhost", port)}
	if name := Hostname(); name != "" {
		out = append(out, net.JoinHostPort(name, port))
	}
	for _, ip := range OutsideAddrs() {
		out = append(out, net.JoinHostPort(ip.String(), port))
	}
	return out[:min(len(out), 5)]
}
