"""What metrics have added up, and their functions."""

import unittest

import dl4.keras as keras
import numpy as np

T, P = np.array([[0.0, 1], [1, 1]], "float32"), np.array([[0.2, 0.6], [0.7, 0.3]], "float32")


class Variables(unittest.TestCase):
    def values(self, metric, *batch):
        metric.update_state(*batch)
        return {v.name: np.asarray(v).tolist() for v in metric.variables}

    def test_what_was_added_up(self):
        mean = self.values(keras.metrics.Mean(), [1.0, 3.0], [1.0, 3.0])
        self.assertEqual(mean, {"total": 10.0, "count": 4.0})
        error = self.values(keras.metrics.MeanSquaredError(), T, P)
        self.assertEqual(error["count"], 2.0)
        self.assertAlmostEqual(error["total"], float(((T - P) ** 2).mean(-1).sum()), places=5)
        root = self.values(keras.metrics.RootMeanSquaredError(), T, P)
        self.assertAlmostEqual(root["total"] / root["count"], float(((T - P) ** 2).mean()), places=5)
        counts = self.values(keras.metrics.Precision(), T, P)
        self.assertEqual(counts, {"true_positives": [2.0], "false_positives": [0.0]})
        self.assertEqual(self.values(keras.metrics.FalseNegatives(), T, P), {"accumulator": [1.0]})
        auc = keras.metrics.AUC(num_thresholds=3)
        self.assertEqual(self.values(auc, T, P)["true_positives"], [3.0, 2.0, 0.0])
        auc.reset_state()
        self.assertEqual(np.asarray(auc.true_positives).tolist(), [0.0] * 3)

    def test_what_is_refused(self):
        metric = keras.metrics.Precision(top_k=1)
        self.assertEqual(self.values(metric, T, P)["true_positives"], [2.0])
        with self.assertRaisesRegex(NotImplementedError, "expected no assignment"):
            metric.true_positives.assign(1)

    def test_variables_of_inner_metrics(self):
        class Two(keras.metrics.Metric):
            def __init__(self):
                super().__init__()
                self.own, self.inner = self.add_variable((), "zeros"), keras.metrics.Mean()

        self.assertEqual(len(Two().variables), 3)


class Functions(unittest.TestCase):
    def test_correlations_along_an_axis(self):
        t, p = np.array([[0, 1, 0.5], [1, 1, 0.2]], "float32"), np.array([[0.1, 0.9, 0.5], [1, 0.9, 0.2]], "float32")
        for axis in (0, 1):
            pairs = zip(t, p) if axis else zip(t.T, p.T)
            expected = [np.corrcoef(a, b)[0, 1] for a, b in pairs]
            got = keras.metrics.pearson_correlation(t, p, axis=axis)
            np.testing.assert_allclose(
                np.asarray(got)[np.isfinite(expected)], np.array(expected)[np.isfinite(expected)], 1e-4
            )
        expected = [
            2 * np.cov(a, b, ddof=0)[0, 1] / (a.var() + b.var() + (a.mean() - b.mean()) ** 2) for a, b in zip(t, p)
        ]
        np.testing.assert_allclose(keras.metrics.concordance_correlation(t, p), expected, 1e-4)


if __name__ == "__main__":
    unittest.main()
