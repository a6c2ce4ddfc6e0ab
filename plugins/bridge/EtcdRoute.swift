// How etcd is reached: by which proxy, and with which certificates. The environment has no say in it, because the
// requests have the user's password.

/// The way to etcd's nodes.
struct EtcdRoute: Sendable, Equatable {
    /// The address of a proxy; nil goes straight to the nodes, whatever the environment says.
    var proxy: String?
    /// The certificates that the nodes' certificates must come from; nil for the system's.
    var authority: String?
    /// This host's certificate.
    var certificate: String?
    /// Its key; nil if it is in the same file.
    var key: String?

    /// What proxies libcurl knows.
    private static let proxySchemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// Reads the options, and checks that the files can be read.
    init(_ source: OptionSource, nodes: [String]) throws {
        self.init()
        (proxy, authority) = (source.text("proxy"), source.text("cacert"))
        (certificate, key) = (source.text("cert"), source.text("key"))
        if let proxy {
            let url = URL(string: proxy)
            guard url?.host != nil, Self.proxySchemes.contains(url?.scheme ?? "") else {
                throw BridgeMistake(description: "--proxy is an address such as http://127.0.0.1:3128")
            }
        }
        guard key == nil || certificate != nil else {
            throw BridgeMistake(description: "--key is the key of a certificate: give --cert, too")
        }
        let files = [("cacert", authority), ("cert", certificate), ("key", key)]
        for case (let name, let path?) in files {
            guard nodes.contains(where: { $0.hasPrefix("https:") }) else {
                throw BridgeMistake(description: "--\(name) is for nodes whose addresses begin with https://")
            }
            do {
                _ = try Data(contentsOf: URL(fileURLWithPath: path))
            } catch {
                throw BridgeMistake(description: "--\(name): \(path) can't be read")
            }
        }
    }

    init() {}
}
