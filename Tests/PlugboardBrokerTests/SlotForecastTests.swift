import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Slots that are foretold", .computing)
struct SlotForecastTests {
    private func forecast(after slots: [UInt32]) -> SlotForecast {
        var forecast = SlotForecast()
        for slot in slots { forecast.learn(slot) }
        return forecast
    }

    @Test("the next slot is as far from the last as that is from the one before", arguments: [0, 1, 3])
    func steps(step: UInt32) {
        let slots = (0..<5).map { 100 + $0 * step }
        #expect(forecast(after: slots).next == 100 + 5 * step)
        #expect(forecast(after: slots).probable == 100 + 5 * step)
    }

    @Test("it goes down, too, and past either end of the numbers")
    func ends() {
        #expect(forecast(after: [9, 8, 7]).probable == 6)
        #expect(forecast(after: [2, 1, 0]).probable == .max)
        #expect(forecast(after: [.max - 2, .max - 1, .max]).probable == 0)
    }

    @Test("without a rule nothing is probable")
    func ruleless() {
        #expect(SlotForecast().probable == 0)
        #expect(forecast(after: [7]).probable == 0)
        #expect(forecast(after: [7, 9]).probable == 0)
        #expect(forecast(after: [7, 9, 11, 14]).probable == 0)
    }

    @Test("it is reliable after as many slots as a group has publishes, and not after one fewer")
    func reliable() {
        let slots = (0..<UInt32(SlotForecast.reliableMin + 2)).map { 50 + $0 }
        #expect(forecast(after: slots).isReliable)
        #expect(!forecast(after: slots.dropLast()).isReliable)
        #expect(!forecast(after: slots + [50]).isReliable)
    }
}
