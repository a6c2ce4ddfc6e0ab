// What a broker knows of the plugins that a supervisor, such as `plugboard up`, runs beside
// it: their names, their processes and what each may do. Owned by the hub. A plugin is known
// by the session (setsid) that its process leads, which the kernel tells of whoever connects:
// nobody joins such a session from outside, and what a plugin starts is in it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// A plugin that the supervisor runs.
final class SupervisedPlugin {
    let name: String
    /// The process that leads its session; nil while none does.
    fileprivate(set) var process: Int32?
    /// What its declaration allows; nil: that says nothing about it.
    private(set) var rights: Rights?
    fileprivate private(set) var may: ActionPatterns?
    /// It runs, or will again by itself: neither broken nor stopped, nor ended for good.
    fileprivate(set) var isExpected = false
    /// Calls that wait for it to serve.
    var heldCalls = 0
    /// What it is started for; nil: it isn't started on demand.
    fileprivate(set) var demand: Demand?
    /// What was said of it last, as far as it matters here, as JSON.
    fileprivate(set) var report: [UInt8] = []
    /// No other plugin has it, ever.
    let number: Int

    fileprivate init(name: String, number: Int) {
        self.name = name
        self.number = number
    }

    /// Whether somebody wants what it is there for.
    var isNeeded: Bool { heldCalls > 0 || (demand?.observers ?? 0) > 0 }

    /// Whether it declares that it serves a key, and can be waited for.
    func willServe(_ key: Span<UInt8>) -> Bool {
        guard isExpected, let may else { return false }
        return may[.serve].contains { pattern in Pattern.matches(pattern.span, key) }
    }

    fileprivate func allow(_ may: ActionPatterns?) {
        self.may = may
        rights = may.map { Rights([PolicyRule(allow: $0)]) }
    }
}

/// The supervisor and its plugins.
struct Supervision {
    /// Plugins that a broker keeps apart.
    static let pluginsMax = 1_024

    /// The process that may say how plugins are; nil: nobody may.
    var supervisor: Int32?
    /// The session of a process; nil where it is gone.
    var sessionOf: (Int32) -> Int32? = { ProcessSession.of($0) }
    /// What the supervisor calls itself.
    var supervisorName: String?
    /// Some plugin may not do everything.
    private(set) var isLimiting = false
    private var plugins: [String: SupervisedPlugin] = [:]
    /// All of them, the first first.
    private var all: [SupervisedPlugin] = []
    private var lastNumber = 0
    /// Those that are started on demand.
    private(set) var onDemand: [SupervisedPlugin] = []
    /// The client that said last how a plugin is.
    var reporter: SessionHandle?

    /// Whether a peer is the supervisor.
    func isSupervisor(_ peer: PeerIdentity) -> Bool {
        supervisor != nil && peer.process == supervisor && peer.process > 0
    }

    /// The plugin that a peer belongs to.
    func plugin(of peer: PeerIdentity) -> SupervisedPlugin? {
        guard supervisor != nil, peer.process > 0, !plugins.isEmpty,
            let session = sessionOf(peer.process)
        else { return nil }
        return plugins.values.first { $0.process == session }
    }

    /// Whether a name belongs to a plugin, or to the supervisor.
    func isTaken(_ name: String) -> Bool {
        plugins[name] != nil || name == supervisorName
    }

    /// Whether one more plugin of this name has its place.
    func hasRoom(for name: String) -> Bool {
        plugins[name] != nil || plugins.count < Self.pluginsMax
    }

    /// What was said of each last.
    var reports: [[UInt8]] { all.map(\.report) }

    /// The plugin with a name.
    func plugin(named name: String) -> SupervisedPlugin? { plugins[name] }

    /// The plugin with a number.
    func plugin(_ number: Int) -> SupervisedPlugin? {
        all.first { $0.number == number }
    }

    /// The plugin that is to serve a key, if one is; first of those that somebody has to ask for.
    func server(of key: Span<UInt8>, for caller: SupervisedPlugin?) -> SupervisedPlugin? {
        for plugin in onDemand where plugin !== caller && plugin.willServe(key) { return plugin }
        for plugin in all where plugin !== caller && plugin.willServe(key) { return plugin }
        return nil
    }

    private mutating func takeDemand(_ report: PluginReport, _ plugin: SupervisedPlugin) {
        guard let idle = report.idleSeconds, let may = report.may else {
            plugin.demand = nil
            return onDemand.removeAll { $0 === plugin }
        }
        let demand = plugin.demand ?? Demand()
        demand.observed = may[.publish] + may[.emit]
        demand.idleNanoseconds = UInt64(idle) * 1_000_000_000
        demand.isRunning = report.state == "running"
        plugin.demand = demand
        if !onDemand.contains(where: { $0 === plugin }) { onDemand.append(plugin) }
    }

    /// Takes in what the supervisor says. Returns the plugin where that might make clients its own
    /// that were not, or change what they may do.
    mutating func take(_ report: PluginReport) -> SupervisedPlugin? {
        let plugin = plugins[report.name] ?? SupervisedPlugin(name: report.name, number: lastNumber + 1)
        let isNew = plugins.updateValue(plugin, forKey: report.name) == nil
        if isNew {
            all.append(plugin)
            lastNumber += 1
        }
        plugin.report = report.text
        plugin.isExpected = !["broken", "stopped", "ended"].contains(report.state)
        takeDemand(report, plugin)
        let isSame = report.process == plugin.process && report.may == plugin.may
        guard isNew || !isSame else { return nil }
        plugin.process = report.process
        if isNew || report.may != plugin.may { plugin.allow(report.may) }
        if plugin.rights != nil { isLimiting = true }
        return plugin
    }
}

extension Supervision {
    /// There is no such plugin any more: its name is free, and nobody waits for it. Clients that
    /// were its own stay limited as they are.
    mutating func remove(_ plugin: SupervisedPlugin) {
        plugin.isExpected = false
        plugins[plugin.name] = nil
        all.removeAll { $0 === plugin }
        onDemand.removeAll { $0 === plugin }
    }
}

/// What the supervisor publishes of a plugin, as far as it concerns the broker.
struct PluginReport {
    let name: String
    let process: Int32?
    let may: ActionPatterns?
    let state: String
    /// Of one that is started on demand: after how long it is wanted no more.
    let idleSeconds: UInt32?
    /// These members as they were written, as an object.
    let text: [UInt8]

    /// At most a day.
    static let idleSecondsMax: UInt32 = 86_400

    /// Reads a value. Throws a refusal that says what is wrong with it.
    init(_ value: Span<UInt8>, at offset: Int) throws(Refusal) {
        let json = try JSONOutline(value, at: offset)
        func fault(_ message: String) -> Refusal { Refusal(.wrongType, message, at: offset) }
        guard json.kind(0, of: value) == .object else {
            throw fault("what a plugin is like is told in an object")
        }
        var (name, process, may): (String?, Int32?, ActionPatterns?)
        var (state, isOnDemand, idle): (String, Bool, UInt32) = ("", false, Demand.idleSecondsDefault)
        var text = Array("{".utf8)
        var member = 1
        for _ in 0..<json.childCount(0) {
            let content = json.bytes(member + 1, of: value)
            switch String(decoding: JSONText.characters(json.characters(member, of: value)), as: UTF8.self) {
            case "name" where json.kind(member + 1, of: value) == .string:
                name = String(
                    decoding: JSONText.characters(json.characters(member + 1, of: value)),
                    as: UTF8.self
                )
            case "state":
                state = String(
                    decoding: JSONText.characters(json.characters(member + 1, of: value)),
                    as: UTF8.self
                )
            case "start": isOnDemand = content.isEqual(to: #""demand""#)
            case "idle":
                guard let seconds = UInt32(String(content)),
                    seconds <= Self.idleSecondsMax
                else { throw fault("\"idle\" is a number of seconds, \(Self.idleSecondsMax) at most") }
                idle = seconds
            case "pid":
                guard let number = Int32(String(content)), number > 0 else {
                    throw fault("\"pid\" is a process's number")
                }
                process = number
            case "may":
                guard let patterns = PolicyReader.patterns(in: content) else {
                    throw fault("\"may\" has patterns for the actions of a policy")
                }
                may = patterns
            default:
                member = json.next(member + 1)
                continue
            }
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text += Array(json.bytes(member, of: value)) + [UInt8(ascii: ":")] + Array(content)
            member = json.next(member + 1)
        }
        guard let name, ClientName.refusal(Array(name.utf8).span, at: 0) == nil else {
            throw fault("\"name\" is the name of a client")
        }
        (self.name, self.process, self.may) = (name, process, may)
        (self.state, idleSeconds) = (state, isOnDemand ? idle : nil)
        self.text = text + [UInt8(ascii: "}")]
    }
}
