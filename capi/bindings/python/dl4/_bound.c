/* The call of a session on tensors that stay, in C: session.py has the same in Python, for where this is not built. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <stdint.h>

/* dl4_session_run */
typedef void *(*run_function)(void *session, void **in, int64_t n_in, void **out, int64_t n_out, void *cancel);

typedef struct {
  PyObject_HEAD
  run_function run;
  void *session, **in, **out;
  long long n_in, n_out;
  PyObject *check, *outputs;
} Call;

static int call_init(PyObject *self, PyObject *args, PyObject *named) {
  Call *c = (Call *)self;
  PyObject *run, *session, *in, *out, *check;
  (void)named;
  if (!PyArg_ParseTuple(args, "OOOLOLO", &run, &session, &in, &c->n_in, &out, &c->n_out, &check)) return -1;
  c->run = (run_function)(uintptr_t)PyLong_AsVoidPtr(run);
  c->session = PyLong_AsVoidPtr(session);
  c->in = (void **)PyLong_AsVoidPtr(in);
  c->out = (void **)PyLong_AsVoidPtr(out);
  if (PyErr_Occurred()) return -1;
  Py_INCREF(check);
  Py_XDECREF(c->check);
  c->check = check;
  return 0;
}

static PyObject *call_call(PyObject *self, PyObject *args, PyObject *named) {
  Call *c = (Call *)self;
  void *error;
  PyThreadState *state;
  (void)args, (void)named;
  if (!c->check) {
    PyErr_SetString(PyExc_TypeError, "not made by a session");
    return NULL;
  }
  state = PyEval_SaveThread();
  error = c->run(c->session, c->in, c->n_in, c->out, c->n_out, NULL);
  PyEval_RestoreThread(state);
  if (error) { /* check raises it */
    PyObject *address = PyLong_FromVoidPtr(error);
    PyObject *none = address ? PyObject_CallFunctionObjArgs(c->check, address, NULL) : NULL;
    Py_XDECREF(address);
    if (!none) return NULL;
    Py_DECREF(none);
  }
  if (!c->outputs) Py_RETURN_NONE;
  Py_INCREF(c->outputs);
  return c->outputs;
}

static PyObject *get_outputs(PyObject *self, void *unused) {
  PyObject *outputs = ((Call *)self)->outputs;
  (void)unused;
  if (!outputs) outputs = Py_None;
  Py_INCREF(outputs);
  return outputs;
}

static int set_outputs(PyObject *self, PyObject *value, void *unused) {
  Call *c = (Call *)self;
  PyObject *before = c->outputs;
  (void)unused;
  Py_XINCREF(value);
  c->outputs = value;
  Py_XDECREF(before);
  return 0;
}

static void call_dealloc(PyObject *self) {
  Call *c = (Call *)self;
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  Py_XDECREF(c->check);
  Py_XDECREF(c->outputs);
  release(self);
  Py_DECREF(type);
}

static PyGetSetDef call_members[] = {{"outputs", get_outputs, set_outputs, "what a call writes", NULL},
                                     {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot call_slots[] = {{Py_tp_init, (void *)call_init},
                                   {Py_tp_call, (void *)call_call},
                                   {Py_tp_dealloc, (void *)call_dealloc},
                                   {Py_tp_getset, (void *)call_members},
                                   {0, NULL}};
static PyType_Spec call_spec = {"dl4._bound.Call", sizeof(Call), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                call_slots};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_bound", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__bound(void) {
  PyObject *m = PyModule_Create(&module), *type = m ? PyType_FromSpec(&call_spec) : NULL;
  if (!type || PyModule_AddObject(m, "Call", type) < 0) {
    Py_XDECREF(type);
    Py_XDECREF(m);
    return NULL;
  }
  return m;
}
