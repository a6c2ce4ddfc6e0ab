// Writes other hosts' values over a connection for each host, so that `live` and `who` are right about other
// machines. It is made when the host first writes, and closes when the host's lease has ended. Values of no
// host, or of too many hosts, come over the bridge's own connection.

import PlugboardClient
import PlugboardWire

actor HostConnections {
    private let own: Bus
    private let name: String
    private let peer: String?
    /// This host, whose values come over the bridge's own connection.
    private let host: String
    private let hostsMax: Int
    private var open: [String: Bus] = [:]
    private var alive: Set<String> = []
    /// A connection may belong to a host that is gone.
    private var mayHaveDeparted = false

    init(_ own: Bus, name: String, host: String, peer: String?, hostsMax: Int = BridgeLimits.hostsMax) {
        self.own = own
        self.name = name
        self.host = host
        self.peer = peer
        self.hostsMax = hostsMax
    }

    /// How many connections there are.
    var count: Int { open.count }

    /// A session begins, and these hosts are alive.
    func begin(alive: Set<String>) {
        self.alive = alive
        mayHaveDeparted = true
        closeDeparted()
    }

    /// Returns whether the host has begun to be alive.
    @discardableResult
    func note(_ change: HostChange) -> Bool {
        mayHaveDeparted = true
        if change.isAlive { return alive.insert(change.host).inserted }
        alive.remove(change.host)
        return false
    }

    /// The host that is alive and whose connection has this name.
    func alive(named connection: String) -> String? {
        guard connection.hasPrefix(Self.prefix(name)) else { return nil }
        return alive.first { Self.name(of: $0, name) == connection }
    }

    /// The connection over which a host's values are written.
    func connection(of host: String?) async throws -> Bus {
        guard let host, host != self.host else { return own }
        if let bus = open[host] {
            if case .closed = bus.state { open[host] = nil } else { return bus }
        }
        guard open.count < hostsMax else { return own }
        let bus = try await Bus.connect(
            name: Self.name(of: host, name),
            path: own.path,
            options: Bus.Options(waitForBroker: .seconds(5), peer: peer)
        )
        open[host] = bus
        mayHaveDeparted = true
        return bus
    }

    /// Closes the connections of hosts that are gone. Their values then show that.
    func closeDeparted() {
        guard mayHaveDeparted else { return }
        mayHaveDeparted = false
        for (host, bus) in open where !alive.contains(host) {
            bus.close()
            open[host] = nil
        }
    }

    /// The start of the names of a bridge's connections.
    static func prefix(_ bridge: String) -> String { bridge + "/" }

    /// `bridge/hostB`, cut to what a name may have.
    static func name(of host: String, _ bridge: String) -> String {
        var name = prefix(bridge)
        for character in host {
            let isControl = character.unicodeScalars.contains { $0.properties.generalCategory == .control }
            let next = isControl ? "?" : character
            if name.utf8.count + String(next).utf8.count > Limits.nameBytesMax { break }
            name.append(next)
        }
        return name
    }
}

extension EtcdChange {
    /// The writer as people on this host see it: `cart@hostB`, cut to what an origin may have. Nil if no
    /// bridge made the change. Of a delete only the host is known.
    var origin: String? {
        guard let host else { return nil }
        var text = String("\(by ?? "")@\(host)".prefix(Limits.originBytesMax))
        while JSON.string(text).bytes.count - 2 > Limits.originBytesMax { text.removeLast() }
        return text
    }
}
