// The bridge's command line. Each option may also be in a file of lines `name = value`, or in the environment
// as `PLUGBOARD_BRIDGE_NAME`. The command line comes before the environment, and that before the file. The
// password is never on the command line, where everybody could read it.

import PlugboardClient
import PlugboardMemory
import PlugboardPosix

enum BridgeOptions {
    static let etcd = PluginOption.list("etcd", "URLS", "etcd's nodes, such as http://a:2379,http://b:2379")
    static let prefix = PluginOption.text("prefix", "TEXT", "what keys begin with in etcd (/plugboard/NAME/)")
    static let host = PluginOption.text("host", "NAME", "this host's name among the others (the system's)")
    static let share = PluginOption.list("share", "PATTERNS", "keys that go both ways")
    static let send = PluginOption.list("send", "PATTERNS", "keys that only go to etcd")
    static let receive = PluginOption.list("receive", "PATTERNS", "keys that only come from etcd")
    static let own = PluginOption.list("own", "PATTERNS", "keys that only this host writes")
    static let user = PluginOption.text("user", "NAME", "etcd's user")
    static let passwordFile = PluginOption.text(
        "password-file", "PATH", "the first line is the user's password"
    )
    static let cacert = PluginOption.text(
        "cacert", "PATH", "certificates that the nodes' must come from (the system's)"
    )
    static let cert = PluginOption.text("cert", "PATH", "this host's certificate, for nodes that ask for one")
    static let key = PluginOption.text("key", "PATH", "the certificate's key, unless it is in the same file")
    static let proxy = PluginOption.text("proxy", "URL", "a proxy on the way to etcd (none)")
    static let compare = PluginOption.integer(
        "compare", "SECONDS", 1...86_400, "how often everything is compared with etcd (600)"
    )
    static let file = PluginOption.text("file", "PATH", "a file with more options, lines NAME = VALUE")

    static let all = [
        etcd, prefix, host, share, send, receive, own, user, passwordFile, cacert, cert, key, proxy, compare,
        file,
    ]

    static let arguments = PluginArguments.read(
        "bridge",
        """
        shares keys with the buses of other hosts through etcd

        Patterns are separated by commas or spaces, or each has its own option:
        --share a --share b. The same options stand in the environment
        (PLUGBOARD_BRIDGE_ETCD, PLUGBOARD_BRIDGE_SHARE, …) or in the file of --file,
        where etcd, share, send, receive and own may each have several lines.
        The password comes from --password-file, or from PLUGBOARD_BRIDGE_PASSWORD.
        The variables http_proxy and ALL_PROXY don't count: only --proxy sends
        requests to a proxy.

        bridge.NAME.status says whether it is up or apart, and why, and which keys of
        etcd no bus can have; NAME.health says it shortly. Writes that lost
        against another host's are kept at bridge.NAME.conflicts.*, the last 100, and
        are emitted as bridge.NAME.conflict. Emits and calls don't cross.
        """,
        options: all
    )

    /// The settings. Ends the process with status 64 after a mistake in them.
    static func read() -> BridgeSettings {
        do {
            return try settings()
        } catch {
            Console.warn("\(arguments.name): \(error)")
            exit(64)
        }
    }

    private static func settings() throws -> BridgeSettings {
        let source = try OptionSource(arguments)
        let nodes = try source.nodes()
        let name = arguments.name
        guard name.isKeyToken else {
            throw BridgeMistake(
                description: "--name: \"\(name)\" can't stand in a key such as bridge.NAME.status"
            )
        }
        var prefix = source.text("prefix") ?? "/plugboard/\(name)/"
        if !prefix.hasSuffix("/") { prefix += "/" }
        var settings = BridgeSettings(
            name: name,
            nodes: nodes,
            prefix: EtcdPrefix(text: prefix),
            host: source.text("host") ?? ProcessInfo.processInfo.hostName
        )
        guard settings.host.utf8.count <= BridgeLimits.hostBytesMax else {
            throw BridgeMistake(description: "a host's name has at most \(BridgeLimits.hostBytesMax) bytes")
        }
        settings.sharing = Sharing(
            share: source.patterns("share"),
            send: source.patterns("send"),
            receive: source.patterns("receive"),
            own: source.patterns("own")
        )
        if let mistake = settings.sharing.mistake { throw BridgeMistake(description: mistake) }
        settings.user = try source.user()
        settings.route = try EtcdRoute(source, nodes: nodes)
        settings.peer = arguments.peer
        if let seconds = try source.seconds("compare") { settings.compareEvery = .seconds(seconds) }
        return settings
    }
}

/// What is wrong with the options.
struct BridgeMistake: Error, CustomStringConvertible {
    let description: String
}

/// The command line, the environment and the file, in this order.
struct OptionSource {
    private static let fileBytesMax = 1_048_576

    private let arguments: [String: String]
    private let environment: [String: String]
    private let file: [String: String]

    init(_ arguments: PluginArguments) throws {
        let options: [(String, PluginOption)] = [
            ("etcd", BridgeOptions.etcd), ("prefix", BridgeOptions.prefix), ("host", BridgeOptions.host),
            ("share", BridgeOptions.share), ("send", BridgeOptions.send), ("receive", BridgeOptions.receive),
            ("own", BridgeOptions.own), ("user", BridgeOptions.user), ("compare", BridgeOptions.compare),
            ("password-file", BridgeOptions.passwordFile), ("file", BridgeOptions.file),
            ("cacert", BridgeOptions.cacert), ("cert", BridgeOptions.cert), ("key", BridgeOptions.key),
            ("proxy", BridgeOptions.proxy),
        ]
        var given: [String: String] = [:]
        var environment: [String: String] = [:]
        environment[Self.variable("password")] = SocketPath.variable(Self.variable("password"))
        for (name, option) in options {
            let variable = Self.variable(name)
            given[name] = arguments.text(option)
            environment[variable] = SocketPath.variable(variable)
            guard option.isPath || SystemText.isUTF8(environment[variable] ?? "") else {
                throw BridgeMistake(description: "\(variable) is not UTF-8")
            }
        }
        try self.init(given, environment)
    }

    init(_ arguments: [String: String], _ environment: [String: String]) throws {
        self.arguments = arguments
        self.environment = environment
        let path = arguments["file"] ?? environment[Self.variable("file")]
        file = try path.map { try Self.read($0) } ?? [:]
    }

    func text(_ name: String) -> String? {
        let text = arguments[name] ?? environment[Self.variable(name)] ?? file[name]
        return text.flatMap { $0.isEmpty ? nil : $0 }
    }

    func patterns(_ name: String) -> [String] {
        (text(name) ?? "").split { $0 == "," || $0.isWhitespace }.map(String.init)
    }

    func nodes() throws -> [String] {
        let nodes = patterns("etcd").map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        guard !nodes.isEmpty else {
            throw BridgeMistake(description: "--etcd is missing, such as http://127.0.0.1:2379")
        }
        for node in nodes {
            guard let url = URL(string: node), url.host != nil, ["http", "https"].contains(url.scheme) else {
                throw BridgeMistake(description: "\"\(node)\" is no address such as http://127.0.0.1:2379")
            }
        }
        return nodes
    }

    func seconds(_ name: String) throws -> Int? {
        guard let text = text(name) else { return nil }
        guard !text.hasPrefix("+"), let seconds = Int(text), (1...86_400).contains(seconds) else {
            throw BridgeMistake(description: "\(name) is a number of seconds from 1 to 86400")
        }
        return seconds
    }

    func user() throws -> EtcdUser? {
        guard let name = text("user") else { return nil }
        let password =
            try text("password-file").map { try Self.firstLine($0) } ?? environment[Self.variable("password")]
        guard let password else {
            throw BridgeMistake(description: "the password of \(name) is missing: give --password-file PATH")
        }
        return EtcdUser(name: name, password: password)
    }

    private static func variable(_ name: String) -> String {
        "PLUGBOARD_BRIDGE_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    private static func contents(_ path: String) throws -> String {
        let bytes = try InputFile.contents(path: path, limit: fileBytesMax)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw BridgeMistake(description: "\(path) is not UTF-8")
        }
        return text
    }

    /// The lines of a file. In Swift a carriage return and a line feed are one character.
    private static func lines(_ path: String) throws -> [Substring] {
        try contents(path).split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    }

    private static func firstLine(_ path: String) throws -> String {
        try lines(path).first.map(String.init) ?? ""
    }

    /// The lines `name = value` of a file. Empty lines, and those that begin with `#`, don't count.
    private static func read(_ path: String) throws -> [String: String] {
        var values: [String: String] = [:]
        for line in try lines(path).map(trimmed)
        where !line.isEmpty && !line.hasPrefix("#") {
            guard let sign = line.firstIndex(of: "=") else {
                throw BridgeMistake(description: "\(path): \"\(line)\" isn't NAME = VALUE")
            }
            let name = trimmed(line[..<sign])
            guard names.contains(name) else {
                throw BridgeMistake(description: "\(path): there is no option \"\(name)\"")
            }
            let value = trimmed(line[line.index(after: sign)...])
            guard let before = values[name] else {
                values[name] = value
                continue
            }
            guard lists.contains(name) else {
                throw BridgeMistake(description: "\(path): \"\(name)\" stands twice")
            }
            values[name] = before + " " + value
        }
        return values
    }

    private static func trimmed(_ text: Substring) -> String {
        let rest = text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace)
        return String(rest.reversed())
    }

    private static let names = lists.union([
        "prefix", "host", "user", "compare", "password-file", "cacert", "cert", "key", "proxy",
    ])
    /// Those that may have several lines.
    private static let lists: Set<String> = ["etcd", "share", "send", "receive", "own"]
}
