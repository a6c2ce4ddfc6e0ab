// The plugins that a supervisor, such as `plugboard up`, runs beside a broker: their names, their processes
// and what each may do. Owned by the hub. A client belongs to a plugin if its process is in the session
// (setsid) that the plugin's process leads. The kernel reports that for each peer. No process can join such a
// session from outside, and programs that a plugin starts are in it.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

final class SupervisedPlugin {
    /// The supervisor's last report about it.
    fileprivate(set) var report: PluginReport
    fileprivate var formerProcess: Int32?
    /// What its declaration allows, and its health; nil if the declaration limits nothing.
    fileprivate(set) var rights: Rights?
    /// The calls that wait for it, because it is starting, by their numbers.
    var heldCalls = CallList()
    /// The demand for it; nil if it isn't started on demand.
    fileprivate(set) var demand: Demand?

    fileprivate init(_ report: PluginReport) {
        (self.report, rights) = (report, report.rights)
    }

    var name: String { report.name }

    var isNeeded: Bool { !heldCalls.isEmpty || (demand?.observers ?? 0) > 0 }

    /// Whether it declares that it serves a key, and is expected to run.
    func willServe(_ key: Span<UInt8>) -> Bool {
        guard report.isExpected, let may = report.may else { return false }
        return may[.serve].contains { pattern in Pattern.matches(pattern.span, key) }
    }
}

struct Supervision: ~Copyable, Checked {
    static let pluginsMax = 1_024

    var supervisor: Int32?
    /// Looks up the session of a process; nil if the process is gone.
    var sessionOf: (Int32) -> Int32? = { ProcessSession.of($0) }
    var supervisorName: String?
    /// All plugins, in the order in which they were reported first.
    private var plugins: [SupervisedPlugin] = []
    var reporter: SessionHandle?

    func isSupervisor(_ peer: PeerIdentity) -> Bool {
        supervisor != nil && peer.process == supervisor && peer.process > 0
    }

    func plugin(of peer: PeerIdentity) -> SupervisedPlugin? {
        guard supervisor != nil, peer.process > 0, !plugins.isEmpty,
            let session = sessionOf(peer.process)
        else { return nil }
        return plugins.first { $0.report.process == session }
    }

    var reports: [[UInt8]] { plugins.map(\.report.text) }

    /// All calls that wait for plugins, in their order.
    var heldCalls: [PendingCall] {
        plugins.flatMap(\.heldCalls.all).sorted { $0.number < $1.number }
    }

    var onDemand: [SupervisedPlugin] { plugins.filter { $0.demand != nil } }

    func plugin(named name: String) -> SupervisedPlugin? { plugins.first { $0.name == name } }

    /// The plugin that declares that it serves a key, if there is one. Plugins on demand come first, because
    /// they start only if they are asked for.
    func server(of key: Span<UInt8>, for caller: SupervisedPlugin?) -> SupervisedPlugin? {
        let willing = plugins.filter { $0 !== caller && $0.willServe(key) }
        return willing.first { $0.demand != nil } ?? willing.first
    }

    /// Applies a report of the supervisor. Returns the plugin, what its clients might do up to now, and whether other
    /// clients may belong to it now, or its rights have changed.
    mutating func take(
        _ report: PluginReport
    ) -> (plugin: SupervisedPlugin, before: Rights?, isChanged: Bool) {
        let known = plugin(named: report.name)
        let plugin = known ?? SupervisedPlugin(report)
        if known == nil { plugins.append(plugin) }
        let (former, rights) = (plugin.report, plugin.rights)
        plugin.report = report
        plugin.demand = report.idleNanoseconds == nil ? nil : plugin.demand ?? Demand()
        if former.process != report.process { plugin.formerProcess = former.process }
        if former.may != report.may { plugin.rights = report.rights }
        if known == nil { return (plugin, nil, true) }
        return (plugin, rights, former.process != report.process || former.may != report.may)
    }

    /// Whether a client of a plugin is left behind by its process: another process, which has left the plugin's
    /// session, may still hold its connection.
    func isOrphan(_ peer: PeerIdentity, of plugin: SupervisedPlugin) -> Bool {
        guard let former = plugin.formerProcess, peer.process > 0, peer.process != plugin.report.process
        else { return false }
        return peer.process == former || sessionOf(peer.process) == nil
    }

    /// Removes a plugin: its name is free, and no call waits for it. Its connected clients keep their limits.
    mutating func remove(_ plugin: SupervisedPlugin) {
        plugin.report.isExpected = false
        plugins.removeAll { $0 === plugin }
    }

    // MARK: What a client may write or be called

    func checkName(_ name: Span<UInt8>, at offset: Int, _ session: borrowing Session) throws(Refusal) {
        guard supervisor != nil else { return }
        let wanted = String(name)
        if let plugin = session.grant?.plugin {
            if plugin.name == wanted { return }
            let message = "this is the plugin \"\(plugin.name)\", which can't call itself \"\(wanted)\""
            throw Refusal(.forbidden, message, hint: "it has its name: hello isn't needed", at: offset)
        }
        let isTaken = plugin(named: wanted) != nil || wanted == supervisorName
        guard isTaken, session.grant?.isSupervisor != true else { return }
        let message = "\"\(wanted)\" is the name of a plugin, which this client is not"
        throw Refusal(.forbidden, message, hint: "plugboard plugins lists them", at: offset)
    }

    /// Throws unless a write to a reserved key is the supervisor's, is about a plugin, and can be understood.
    @inline(never)
    func checkOwn(_ request: Request, _ line: Span<UInt8>, _ session: borrowing Session) throws(Refusal) {
        guard session.grant?.isSupervisor == true,
            request.key.bytes(of: line).starts(with: Self.pluginPrefix.bytes)
        else { throw .reserved(request, line) }
        if request.operation == .delete { return }
        guard request.operation == .publish, request.has(.whileConnected) else {
            let message = "how plugins are is published, while the one who knows is connected"
            throw Refusal(.forbidden, message, hint: "say \"while\":\"connected\"", at: request.key.start)
        }
        let report = try PluginReport(request.value.bytes(of: line), at: request.value.start)
        guard plugins.count < Self.pluginsMax || plugin(named: report.name) != nil else {
            let message = "there are at most \(Self.pluginsMax) plugins"
            throw Refusal(.limit, message, at: request.key.start)
        }
    }

    private static let pluginPrefix: StaticString = "$broker.plugins."
}

struct PluginReport {
    let name: String
    let process: Int32?
    let may: ActionPatterns?
    let isRunning: Bool
    /// Whether it runs or will start by itself: it is not broken, stopped, ended or gone.
    fileprivate(set) var isExpected: Bool
    /// For a plugin on demand: after how long without demand it is no longer wanted. Otherwise nil.
    let idleNanoseconds: UInt64?
    let text: [UInt8]

    static let idleSecondsMax: UInt32 = 86_400
    private static let idleSecondsDefault: UInt32 = 30

    /// Reads a value. Throws a refusal that names the mistake.
    init(_ value: Span<UInt8>, at offset: Int) throws(Refusal) {
        let json = try JSONOutline(value, at: offset)
        func fault(_ message: String) -> Refusal { Refusal(.wrongType, message, at: offset) }
        guard json.kind(0, of: value) == .object else {
            throw fault("what a plugin is like is told in an object")
        }
        var (name, process, may): (String?, Int32?, ActionPatterns?)
        var (state, isOnDemand, idle): (String, Bool, UInt32) = ("", false, Self.idleSecondsDefault)
        for member in json.children(0, of: value) {
            let content = json.bytes(member + 1, of: value)
            switch json.text(member, of: value) {
            case "name" where json.kind(member + 1, of: value) == .string:
                name = json.text(member + 1, of: value)
            case "state": state = json.text(member + 1, of: value)
            case "start": isOnDemand = content.isEqual(to: #""demand""#)
            case "idle":
                idle = UInt32(String(content)) ?? .max
                guard idle <= Self.idleSecondsMax else {
                    throw fault("\"idle\" is a number of seconds, \(Self.idleSecondsMax) at most")
                }
            case "pid":
                process = Int32(String(content))
                guard let process, process > 0 else { throw fault("\"pid\" is a process's number") }
            case "may":
                may = PolicyReader.patterns(in: content)
                guard may != nil else { throw fault("\"may\" has patterns for the actions of a policy") }
            default: break
            }
        }
        guard let name, ClientName.refusal(Array(name.utf8).span, at: 0) == nil else {
            throw fault("\"name\" is the name of a client")
        }
        (self.name, self.process, self.may) = (name, process, may)
        (isRunning, isExpected) = (state == "running", !["broken", "stopped", "ended"].contains(state))
        idleNanoseconds = isOnDemand && may != nil ? UInt64(idle) * 1_000_000_000 : nil
        text = Array(value)
    }

    /// What its clients may do; nil if that isn't limited. How it is, it may always tell.
    fileprivate var rights: Rights? {
        var health = ActionPatterns()
        health[.publish] = [Array(HealthReport.key(of: name).utf8)]
        return may.map { Rights([PolicyRule(allow: $0), PolicyRule(allow: health)]) }
    }

    /// The patterns of what it publishes.
    fileprivate var told: [[UInt8]] { may.map { $0[.publish] + $0[.emit] } ?? [] }
}

// Plugins that start on demand. Counts the observers of what they publish, and tells the supervisor when a
// plugin becomes wanted, and when it hasn't been for a while. Calls that wait for a plugin count, too.

extension Hub {
    // MARK: Observers

    /// Subscriptions of a client that is being closed count until they end, because they are subtracted then.
    func countObservers(of plugin: SupervisedPlugin) -> Int {
        matching.handles.count { isObserver($0, of: plugin) }
    }

    func isObserver(_ subscription: SubscriptionHandle, of plugin: SupervisedPlugin) -> Bool {
        let grant = sessions[matching[subscription].session].grant
        guard let demand = plugin.demand, grant?.isSupervisor != true, grant?.plugin !== plugin else {
            return false
        }
        return matching[subscription].allPatterns(keyspace).contains { demand.concerns($0.span) }
    }

    // MARK: The supervisor

    mutating func renewDemand(of plugin: SupervisedPlugin) {
        guard let demand = plugin.demand else { return }
        // To count all who observe what it publishes takes long.
        if demand.observed != plugin.report.told {
            demand.observed = plugin.report.told
            demand.observers = countObservers(of: plugin)
        }
        if plugin.report.isRunning, !demand.isWanted {
            // Somebody started it by hand. It is idle from now on.
            demand.isWanted = true
        } else if plugin.report.process == nil, plugin.isNeeded, demand.isWanted {
            tellDemand(plugin)
        }
        weigh(plugin)
    }

    /// Tells the supervisor if a plugin has become wanted. If it no longer is, plans a check for later.
    mutating func weigh(_ plugin: SupervisedPlugin) {
        guard let demand = plugin.demand else { return }
        if plugin.isNeeded {
            if let check = demand.check.take() { deadlines.cancel(check) }
            if demand.isWanted { return }
            demand.isWanted = true
            tellDemand(plugin)
        } else if demand.isWanted, demand.check == nil {
            demand.quietSince = deadlines.now
            planCheck(of: plugin, demand)
        }
    }

    private mutating func planCheck(of plugin: SupervisedPlugin, _ demand: Demand) {
        demand.check = deadlines.add(at: demand.quietSince + (plugin.report.idleNanoseconds ?? 0), .idle)
    }

    /// A planned check is due: tells the supervisor if nobody has wanted a plugin for long enough.
    mutating func checkIdle(now: UInt64) {
        for plugin in supervision.onDemand {
            guard let demand = plugin.demand, let check = demand.check, deadlines.deadline(of: check) == nil
            else { continue }
            demand.check = nil
            if isBusy(plugin) { demand.quietSince = now }
            if now < demand.quietSince + (plugin.report.idleNanoseconds ?? 0) {
                planCheck(of: plugin, demand)
            } else {
                demand.isWanted = false
                tellDemand(plugin)
            }
        }
    }

    private func isBusy(_ plugin: SupervisedPlugin) -> Bool {
        sessions.handles.contains {
            sessions[$0].grant?.plugin === plugin && sessions[$0].calls?.toAnswer.isEmpty == false
        }
    }

    private mutating func tellDemand(_ plugin: SupervisedPlugin) {
        guard let reporter = supervision.reporter, let demand = plugin.demand else { return }
        var event = delivery.takeLine()
        EventEncoder.appendDemand(plugin: plugin.name, isWanted: demand.isWanted, to: &event)
        delivery.send(event, to: reporter, at: revision, &sessions)
    }
}

// The demand for a plugin that is started on demand: the keys for which it is needed, and whether a client
// needs it now. Owned by its `SupervisedPlugin`.

final class Demand {
    /// The patterns of what its plugin publishes.
    var observed: [[UInt8]] = []
    /// How many observe that now.
    var observers = 0
    /// When the last observer or call ended, or a client last called it.
    var quietSince: UInt64 = 0
    var isWanted = false
    /// When it is looked at whether it has been quiet for long enough; nil if it is needed, or not wanted.
    var check: DeadlineTicket?

    /// A pattern that begins with `*` asks for no particular plugin.
    func concerns(_ pattern: Span<UInt8>) -> Bool {
        pattern.first != UInt8(ascii: "*")
            && observed.contains { own in Pattern.overlaps(own.span, pattern) }
    }
}
