// What `status` and `metrics` show: one look at the broker, its clients, its warnings and the plugins.

import PlugboardPosix
import PlugboardWire

/// One look at a bus.
struct BusReport {
    let path: String
    let greeting: BrokerLine?
    let stats: JSONObject
    /// The broker's process, if it can be seen from here.
    let process: Int32?
    var clients: [JSONObject]
    var warnings: [JSONObject]
    /// Nil if `up` didn't start the broker.
    var plugins: [JSONObject]?
    /// What programs tell of themselves.
    var health: [ProgramHealth]

    init(_ connection: BrokerConnection) throws {
        path = connection.path
        greeting = connection.greeting
        guard let stats = try connection.ownValue(of: TopKeys.stats).object else {
            throw CommandError(.refused, "the broker doesn't tell how it is")
        }
        self.stats = stats
        process = BrokerProcess.confirmed(stats["pid"]?.integer, by: connection)
        clients = try connection.clients()
        warnings = try connection.value(of: TopKeys.warnings)?.array?.compactMap(\.object) ?? []
        plugins = try connection.plugins()
        let health = try connection.values(matching: HealthReport.pattern).compactMap(ProgramHealth.init)
        self.health = Array(health.sorted { $0.name < $1.name }.prefix(ProgramHealth.programsMax))
    }

    /// A number among the broker's figures.
    func figure(_ name: String) -> UInt64? { stats[name]?.integer }

    /// One of the totals since the broker's start.
    func total(_ name: String) -> UInt64? { stats["totals"]?.object?[name]?.integer }
}

/// What a program tells at `NAME.health`.
struct ProgramHealth {
    /// Programs and counts beyond these aren't shown.
    static let programsMax = 1_000
    static let countsMax = 32

    let name: String
    let state: HealthState
    let since: String?
    let message: String?
    let counts: [(name: String, count: UInt64)]
    /// All of it as the program wrote it.
    let json: [UInt8]

    /// Nil for what is no such report. A key that spells a name in another way than the report of a client of
    /// that name isn't one, either: a name would be told twice.
    init?(key: String, value: JSONValue) {
        let name = HealthReport.name(in: key)
        guard HealthReport.key(of: name) == key, let object = value.object,
            let state = object["state"]?.string.flatMap(HealthState.init)
        else { return nil }
        (self.name, self.state, json) = (name, state, Array(value.bytes))
        since = object["since"]?.string
        let text = object["message"]?.string ?? ""
        message = text.isEmpty || text.utf8.count > HealthReport.messageBytesMax ? nil : text
        counts = Self.counts(object["counts"]?.object?.members.prefix(Self.countsMax) ?? [])
    }

    /// The last count of each name: JSON may have a name twice, metrics may not.
    private static func counts(_ members: ArraySlice<JSONObject.Member>) -> [(name: String, count: UInt64)] {
        var counts: [(name: String, count: UInt64)] = []
        for member in members {
            guard let count = member.value.integer else { continue }
            counts.removeAll { $0.name == member.name }
            counts.append((member.name, count))
        }
        return counts
    }

    /// What is wrong with it; nil if nothing is.
    var problem: String? {
        guard state != .well else { return nil }
        let time = since.map { " since \($0)" } ?? ""
        return "plugin \(name) is \(state.rawValue)\(time)\(message.map { ": \($0)" } ?? "")"
    }
}

/// The journal that a broker's process has open, as far as the system tells.
struct OpenJournal: Equatable {
    let folder: String
    let bytes: UInt64
    let files: Int

    /// The lock is opened before the first client comes, so its descriptor has a low number.
    private static let descriptorsMax = 256

    /// Nil if it has none, or if the system doesn't tell which files a process has open.
    init?(pid: Int32) {
        let open = "/proc/\(pid)/fd"
        // Another user's process doesn't show them, and not every system has such a folder.
        guard let names = try? Folder.names(in: open) else { return nil }
        let numbers = names.compactMap { Int($0) }.sorted()
        let targets = numbers.prefix(Self.descriptorsMax).compactMap {
            FileCopy.target(ofLink: "\(open)/\($0)")
        }
        guard
            let lock = targets.first(where: { path in
                path.hasSuffix("/lock")
                    && targets.contains { $0.hasPrefix(SocketPath.folder(of: path) + "/segment-") }
            })
        else { return nil }
        self.init(folder: SocketPath.folder(of: lock))
    }

    /// Nil if the folder can't be read.
    private init?(folder: String) {
        guard let names = try? Folder.names(in: folder) else { return nil }
        self.folder = folder
        let kept = names.filter { $0.hasPrefix("segment-") || $0.hasPrefix("snapshot-") }
        files = kept.count
        bytes = kept.reduce(0) { $0 + UInt64(max(0, FileStatus(path: "\(folder)/\($1)").bytes)) }
    }

    /// Whether the system tells which files a process has open.
    static func isKnown(pid: Int32) -> Bool { (try? Folder.names(in: "/proc/\(pid)/fd")) != nil }
}
